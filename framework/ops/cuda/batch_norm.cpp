// Batch normalisation by own kernels: two passes forward, two backward.
#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/batch_norm_kernels.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/gradient_target.h"
#include "ops/cuda/norm_operands.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaBatchNorm final : public BatchNorm {
 public:
  CudaBatchNorm(CudaContext& context, const BatchNormSpec& spec)
      : spec_(spec), shape_{spec.rows, spec.C, spec.dtype, context.device().multiprocessors()} {}

  ByteCount saved_bytes() const override {
    return statistics_bytes() + ByteCount(adds() ? norm_mask_bytes(shape_) : 0);
  }
  ByteCount workspace_bytes() const override { return factors_at() + ByteCount(2 * spec_.C * kFloat); }

  void forward_train(Stream& stream, TensorView x, TensorView residual, const BatchNormParameters& parameters,
                     TensorView y, TensorView saved, TensorView workspace) override;
  void forward_evaluate(Stream& stream, TensorView x, TensorView residual,
                        const BatchNormParameters& parameters, TensorView y) override;
  void backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) override;

 private:
  static constexpr std::int64_t kFloat = sizeof(float);

  bool adds() const { return spec_.tail == NormTail::AddRelu; }
  bool has_relu() const { return spec_.tail != NormTail::None; }
  bool of_batch() const { return spec_.statistics == NormStatistics::Batch; }

  // `saved`: mean [C] and 1/deviation [C] of a batch, then the mask of an add + ReLU. Constant statistics are
  // read from where they are.
  ByteCount statistics_bytes() const { return norm_statistics_bytes(spec_); }
  std::uint8_t* mask_in(const TensorView& saved) const {
    return adds() ? static_cast<std::uint8_t*>(saved.raw()) + statistics_bytes().value() : nullptr;
  }
  // The workspace: partial sums, then the factors of the input gradient.
  ByteCount factors_at() const { return workspace_piece(ByteCount(norm_partial_floats(shape_) * kFloat)); }

  void expect_operands(const TensorView& x, const TensorView& residual, const BatchNormParameters& parameters,
                       const TensorView& y) const;
  // What normalised in training.
  NormAffine trained_affine(const BatchNormParameters& parameters, const TensorView& saved) const {
    return norm_affine(spec_, parameters, of_batch() ? static_cast<const float*>(saved.raw()) : nullptr);
  }

  BatchNormSpec spec_;
  NormShape shape_;
};

void CudaBatchNorm::expect_operands(const TensorView& x, const TensorView& residual,
                                    const BatchNormParameters& parameters, const TensorView& y) const {
  const Shape shape{spec_.rows, spec_.C};
  expect_tensor("batch_norm x", x, spec_.dtype, shape);
  expect_tensor("batch_norm y", y, spec_.dtype, shape);
  if (adds()) {
    expect_tensor("batch_norm residual", residual, spec_.dtype, shape);
  } else {
    expect_no_tensor("batch_norm residual", residual);
  }
  expect_norm_parameters(spec_, parameters);
}

void CudaBatchNorm::forward_train(Stream& stream, TensorView x, TensorView residual,
                                  const BatchNormParameters& parameters, TensorView y, TensorView saved,
                                  TensorView workspace) {
  expect_operands(x, residual, parameters, y);
  expect_memory("batch_norm saved", saved, saved_bytes());
  expect_memory("batch_norm workspace", workspace, workspace_bytes());
  const auto raw = as_cuda(stream).raw();
  if (of_batch()) {
    measure_norm(stream, spec_, shape_, parameters,
                 {.x = x,
                  .partial_sums = static_cast<float*>(workspace.raw()),
                  .statistics = static_cast<float*>(saved.raw())});
  }
  TANDEM_CUDA(launch_norm_apply(shape_,
                                {.x = x.raw(),
                                 .residual = residual.raw(),
                                 .affine = trained_affine(parameters, saved),
                                 .relu = has_relu(),
                                 .y = y.raw(),
                                 .mask = mask_in(saved)},
                                raw));
}

void CudaBatchNorm::forward_evaluate(Stream& stream, TensorView x, TensorView residual,
                                     const BatchNormParameters& parameters, TensorView y) {
  expect_operands(x, residual, parameters, y);
  TANDEM_CUDA(launch_norm_apply(shape_,
                                {.x = x.raw(),
                                 .residual = residual.raw(),
                                 .affine = norm_affine(spec_, parameters, nullptr),
                                 .relu = has_relu(),
                                 .y = y.raw(),
                                 .mask = nullptr},
                                as_cuda(stream).raw()));
}

void CudaBatchNorm::backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) {
  const Shape shape{spec_.rows, spec_.C};
  expect_tensor("batch_norm dy.first", tensors.dy.first, spec_.dtype, shape);
  if (!tensors.dy.second.empty()) {
    expect_tensor("batch_norm dy.second", tensors.dy.second, spec_.dtype, shape);
  }
  expect_operands(tensors.x, tensors.d_residual, parameters, tensors.dx);
  expect_memory("batch_norm saved", tensors.saved, saved_bytes());
  expect_memory("batch_norm workspace", tensors.workspace, workspace_bytes());
  expect_gradient_target("batch_norm d_scale", tensors.d_scale, {spec_.C});
  expect_gradient_target("batch_norm d_bias", tensors.d_bias, {spec_.C});
  const auto raw = as_cuda(stream).raw();
  const auto affine = trained_affine(parameters, tensors.saved);
  auto* factors = static_cast<float*>(workspace_at(tensors.workspace, factors_at()));
  TANDEM_CUDA(launch_norm_reduce(shape_,
                                 {.dy = tensors.dy.first.raw(),
                                  .dy_second = tensors.dy.second.raw(),
                                  .x = tensors.x.raw(),
                                  .affine = affine,
                                  .relu = has_relu(),
                                  .mask = mask_in(tensors.saved),
                                  .d_residual = tensors.d_residual.raw(),
                                  .batch_statistics = of_batch(),
                                  .partial_sums = static_cast<float*>(tensors.workspace.raw()),
                                  .factors = factors,
                                  .d_scale = as_kernel_argument(tensors.d_scale),
                                  .d_bias = as_kernel_argument(tensors.d_bias)},
                                 raw));
  // With a residual the first pass has left its gradient, which is dz itself.
  TANDEM_CUDA(launch_norm_input_gradient(shape_,
                                         {.dy = adds() ? tensors.d_residual.raw() : tensors.dy.first.raw(),
                                          .dy_second = adds() ? nullptr : tensors.dy.second.raw(),
                                          .x = tensors.x.raw(),
                                          .affine = affine,
                                          .relu = has_relu() && !adds(),
                                          .factors = factors,
                                          .dx = tensors.dx.raw()},
                                         raw));
}

}  // namespace

std::unique_ptr<BatchNorm> make_cuda_batch_norm(CudaContext& context, const BatchNormSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("batch_norm", spec.dtype);
  return std::make_unique<CudaBatchNorm>(context, spec);
}

}  // namespace tandem
