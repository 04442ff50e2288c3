// Sums, casts and the normalisation of images on the CPU.
#include <algorithm>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

template <class T>
auto array_of(const TensorView& tensor) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(static_cast<T*>(tensor.raw()),
                                                        tensor.elements().value());
}

// Calls `use` with a value of the C++ type that stores a float dtype.
template <class Use>
void with_float_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::F32:
      return use(float{});
    case DType::BF16:
      return use(Eigen::bfloat16{});
    case DType::F16:
      return use(Eigen::half{});
    default:
      TANDEM_EXPECT(false, "cast: expected f32, bf16 or f16, found {}", name_of(dtype));
  }
}

bool is_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

// From 16 bits to 16 bits goes through fp32, which holds both exactly.
void cast_elements(const TensorView& from, const TensorView& to) {
  with_float_type(from.dtype(), [&]<class From>(From) {
    with_float_type(to.dtype(), [&]<class To>(To) {
      array_of<To>(to) = array_of<From>(from).template cast<float>().template cast<To>();
    });
  });
}

class CpuElementwise final : public Elementwise {
 public:
  void add(Stream& stream, Addends x, TensorView y) override {
    expect_tensor("add first", x.first, DType::F32, y.shape());
    expect_tensor("add second", x.second, DType::F32, y.shape());
    expect_tensor("add y", y, DType::F32, y.shape());
    as_cpu(stream).enqueue(
        [=] { array_of<float>(y) = array_of<float>(x.first) + array_of<float>(x.second); });
  }

  void cast(Stream& stream, TensorView from, TensorView to) override {
    TANDEM_EXPECT(is_float(from.dtype()) && is_float(to.dtype()),
                  "cast: expected f32, bf16 or f16 on both sides, found {} to {}", name_of(from.dtype()),
                  name_of(to.dtype()));
    expect_tensor("cast from", from, from.dtype(), to.shape());
    expect_tensor("cast to", to, to.dtype(), from.shape());
    as_cpu(stream).enqueue([=] { cast_elements(from, to); });
  }

  void zero_padding(Stream& stream, const BlockedFilter& filter, TensorView gradient) override {
    expect_tensor("zero_padding gradient", gradient, DType::F32, filter.stored());
    as_cpu(stream).enqueue([=] {
      for (std::int64_t i = 0; i < gradient.elements().value(); ++i) {
        if (!filter.is_weight(i)) gradient.data<float>()[i] = 0.0f;
      }
    });
  }
};

class CpuImageNormalize final : public ImageNormalize {
 public:
  explicit CpuImageNormalize(const ImageNormalizeSpec& spec) : spec_(spec) {}

  void forward(Stream& stream, TensorView images, TensorView y) override {
    expect_tensor("image_normalize images", images, DType::U8, {spec_.N, spec_.H, spec_.W, spec_.C});
    expect_tensor("image_normalize y", y, DType::F32, spec_.stored());
    as_cpu(stream).enqueue([=, this] {
      if (spec_.in_blocks()) {
        normalize_blocks(images.data<std::uint8_t>(), y.data<float>());
      } else {
        normalize_pixels(images.data<std::uint8_t>(), y.data<float>());
      }
    });
  }

 private:
  void normalize_pixels(const std::uint8_t* images, float* y) const {
    for (std::int64_t pixel = 0; pixel < spec_.N * spec_.H * spec_.W; ++pixel) {
      for (std::int64_t c = 0; c < spec_.C; ++c) {
        *y++ = normalized(*images++, c);
      }
      for (std::int64_t c = spec_.C; c < spec_.stored_channels; ++c) *y++ = 0.0f;
    }
  }

  void normalize_blocks(const std::uint8_t* images, float* y) const {
    constexpr auto kBlock = BlockedFilter::kBlock;
    std::fill_n(y, spec_.stored().elements().value(), 0.0f);
    for (std::int64_t n = 0; n < spec_.N; ++n) {
      for (std::int64_t row = spec_.padding; row < spec_.padding + spec_.H; ++row) {
        for (std::int64_t column = spec_.padding; column < spec_.padding + spec_.W; ++column) {
          const auto block =
              (n * spec_.stored_rows() + row / kBlock) * spec_.stored_columns() + column / kBlock;
          float* pixel =
              y + block * spec_.stored_channels + (row % kBlock * kBlock + column % kBlock) * spec_.C;
          for (std::int64_t c = 0; c < spec_.C; ++c) pixel[c] = normalized(*images++, c);
        }
      }
    }
  }

  float normalized(std::uint8_t byte, std::int64_t c) const {
    return (static_cast<float>(byte) / 255.0f - spec_.mean[c]) / spec_.deviation[c];
  }

  ImageNormalizeSpec spec_;
};

}  // namespace

std::unique_ptr<Elementwise> make_cpu_elementwise() {
  return std::make_unique<CpuElementwise>();
}

std::unique_ptr<ImageNormalize> make_cpu_image_normalize(const ImageNormalizeSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("image_normalize", spec.dtype);
  return std::make_unique<CpuImageNormalize>(spec);
}

}  // namespace tandem
