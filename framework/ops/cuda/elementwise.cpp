// Sums, casts, dropout and the normalisation of images by own kernels.
#include "ops/cuda/elementwise_kernels.h"

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaElementwise final : public Elementwise {
 public:
  void add(Stream& stream, Addends x, TensorView y) override {
    expect_float_dtype("add y", y.dtype());
    expect_tensor("add first", x.first, y.dtype(), y.shape());
    expect_tensor("add second", x.second, y.dtype(), y.shape());
    expect_tensor("add y", y, y.dtype(), y.shape());
    TANDEM_CUDA(launch_add(x.first.raw(), x.second.raw(), {y.raw(), y.dtype()}, y.elements().value(),
                           as_cuda(stream).raw()));
  }

  void cast(Stream& stream, TensorView from, TensorView to) override {
    expect_float_dtype("cast from", from.dtype());
    expect_float_dtype("cast to", to.dtype());
    expect_tensor("cast from", from, from.dtype(), to.shape());
    expect_tensor("cast to", to, to.dtype(), from.shape());
    TANDEM_CUDA(launch_store_gradient({from.raw(), from.dtype()}, {to.raw(), to.dtype(), false},
                                      to.elements().value(), as_cuda(stream).raw()));
  }

  void zero_padding(Stream& stream, const BlockedFilter& filter, TensorView gradient) override {
    expect_float_dtype("zero_padding gradient", gradient.dtype());
    expect_tensor("zero_padding gradient", gradient, gradient.dtype(), filter.stored());
    TANDEM_CUDA(launch_zero_padding(filter, {gradient.raw(), gradient.dtype()}, as_cuda(stream).raw()));
  }
};

class CudaDropout final : public Dropout {
 public:
  explicit CudaDropout(const DropoutSpec& spec)
      : shape_{spec.samples, spec.elements_per_sample, spec.dtype, spec.probability, spec.seed, spec.layer} {}

  void apply(Stream& stream, TensorView x, TensorView positions) override {
    expect_tensor("dropout x", x, shape_.dtype, {shape_.samples, shape_.elements_per_sample});
    expect_tensor("dropout positions", positions, DType::I64, {shape_.samples});
    if (shape_.probability == 0.0f) return;
    TANDEM_CUDA(launch_dropout(shape_, x.raw(), positions.data<std::int64_t>(), as_cuda(stream).raw()));
  }

 private:
  DropoutShape shape_;
};

class CudaImageNormalize final : public ImageNormalize {
 public:
  CudaImageNormalize(CudaContext& context, const ImageNormalizeSpec& spec)
      : spec_(spec),
        shape_{.N = spec.N,
               .H = static_cast<int>(spec.H),
               .W = static_cast<int>(spec.W),
               .stored_rows = static_cast<int>(spec.stored_rows()),
               .stored_columns = static_cast<int>(spec.stored_columns()),
               .padding = static_cast<int>(spec.padding),
               .in_blocks = spec.in_blocks(),
               .C = static_cast<int>(spec.C),
               .stored = static_cast<int>(spec.stored_channels),
               .dtype = spec.dtype,
               .mean = {spec.mean[0], spec.mean[1], spec.mean[2], spec.mean[3]},
               .deviation = {spec.deviation[0], spec.deviation[1], spec.deviation[2], spec.deviation[3]},
               .multiprocessors = context.device().multiprocessors()} {}

  void forward(Stream& stream, TensorView images, TensorView y) override {
    expect_tensor("image_normalize images", images, DType::U8, {spec_.N, spec_.H, spec_.W, spec_.C});
    expect_tensor("image_normalize y", y, spec_.dtype, spec_.stored());
    TANDEM_CUDA(launch_image_normalize(shape_, images.data<std::uint8_t>(), y.raw(), as_cuda(stream).raw()));
  }

 private:
  ImageNormalizeSpec spec_;
  ImageShape shape_;
};

}  // namespace

std::unique_ptr<Elementwise> make_cuda_elementwise(CudaContext&) {
  return std::make_unique<CudaElementwise>();
}

std::unique_ptr<Dropout> make_cuda_dropout(CudaContext&, const DropoutSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("dropout", spec.dtype);
  return std::make_unique<CudaDropout>(spec);
}

std::unique_ptr<ImageNormalize> make_cuda_image_normalize(CudaContext& context,
                                                          const ImageNormalizeSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("image_normalize", spec.dtype);
  return std::make_unique<CudaImageNormalize>(context, spec);
}

}  // namespace tandem
