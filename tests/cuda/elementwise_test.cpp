#include "gpu_op_test.h"

namespace tandem {
namespace {

class CudaElementwiseTest : public GpuOpTest, public ::testing::WithParamInterface<DType> {
 protected:
  DType dtype() const { return GetParam(); }
};

TEST_P(CudaElementwiseTest, AddsInAnyPlace) {
  const auto op = make_cuda_elementwise(*context_);
  for (const std::int64_t count : {1, 7, 64, 4097, 100000}) {
    const auto first_host = rounded(HostTensor::random({count}, 1), dtype());
    const auto second_host = rounded(HostTensor::random({count}, 2), dtype());
    HostTensor expected({count});
    for (std::int64_t i = 0; i < count; ++i) {
      expected[i] = rounded(first_host[i] + second_host[i], dtype());
    }
    const auto first = on_gpu(first_host, dtype()), second = on_gpu(second_host, dtype());
    const auto y = unwritten({count}, dtype());
    op->add(*stream_, {first.view(), second.view()}, y.view());
    expect_same("y", y.values(), expected);
    op->add(*stream_, {first.view(), second.view()}, second.view());
    expect_same("in place", second.values(), expected);
  }
}

TEST_P(CudaElementwiseTest, CastsToEveryDType) {
  const auto op = make_cuda_elementwise(*context_);
  for (const std::int64_t count : {5, 4096}) {
    for (const auto to : kFloatTypes) {
      const auto values = rounded(HostTensor::random({count}, 1), dtype());
      const auto from = on_gpu(values, dtype()), cast = unwritten({count}, to);
      op->cast(*stream_, from.view(), cast.view());
      expect_same(std::string(name_of(to)), cast.values(), rounded(values, to));
    }
  }
}

// The masks are the CPU's, bit by bit: where a mask differed an element would be zero on one side only.
TEST_P(CudaElementwiseTest, DropsWhatTheCpuDrops) {
  for (const std::int64_t elements : {1, 6, 9, 64, 1000}) {
    DropoutSpec spec{
        .samples = 5, .elements_per_sample = elements, .probability = 0.3f, .seed = 77, .layer = 3};
    const auto reference = make_cpu_dropout(spec);
    spec.dtype = dtype();
    const auto op = make_cuda_dropout(*context_, spec);
    const auto x_host = rounded(HostTensor::random({5, elements}, 1, 0.5f, 1.0f), dtype());
    const auto positions_host = HostTensor::of<std::int64_t>({5}, {0, 1, 12345678901, 7, 1 << 20});
    const auto list = positions_host.values<std::int64_t>();
    const GpuValues<std::int64_t> positions(*device_, *stream_, list);
    const auto x = on_gpu(x_host, dtype());
    reference->apply(cpu_, x_host.view(), positions_host.view());
    cpu_.synchronize();
    op->apply(*stream_, x.view(), positions.view({5}));
    expect_same("x", x.values(), rounded(x_host, dtype()));
  }
}

TEST_P(CudaElementwiseTest, NormalizesImages) {
  for (const std::int64_t stored : {3, 4, 5, 8, 12, 13, 16}) {
    for (const std::int64_t C : {1, 3}) {
      ImageNormalizeSpec spec{.N = 2, .H = 5, .W = 7, .C = C, .stored_channels = stored};
      if (stored >= 4 * C) {
        spec.layout = PixelLayout::SpaceToDepth;
        spec.padding = stored % 4;
      }
      spec.mean = {0.485f, 0.456f, 0.406f, 0.0f};
      spec.deviation = {0.229f, 0.224f, 0.225f, 1.0f};
      const auto reference = make_cpu_image_normalize(spec);
      spec.dtype = dtype();
      const auto op = make_cuda_image_normalize(*context_, spec);
      HostTensor images({2, 5, 7, C}, DType::U8);
      std::uint8_t next = 3;
      for (auto& byte : images.values<std::uint8_t>()) byte = next = static_cast<std::uint8_t>(next * 5 + 7);
      const auto expected = HostTensor::unwritten(spec.stored());
      reference->forward(cpu_, images.view(), expected.view());
      cpu_.synchronize();
      const auto bytes = images.values<std::uint8_t>();
      const GpuValues<std::uint8_t> on_device(*device_, *stream_, bytes);
      const auto y = unwritten(spec.stored(), dtype());
      op->forward(*stream_, on_device.view({2, 5, 7, C}), y.view());
      expect_same("y", y.values(), rounded(expected, dtype()));
    }
  }
}

TEST_P(CudaElementwiseTest, ZeroesThePaddingOfAFilterOnly) {
  const BlockedFilter filter{.K = 64, .C = 3, .R = 7, .S = 7, .stored_channels = 16};
  const auto values = rounded(HostTensor::random(filter.stored(), 1), dtype());
  const auto gradient = on_gpu(values, dtype());
  make_cuda_elementwise(*context_)->zero_padding(*stream_, filter, gradient.view());
  make_cpu_elementwise()->zero_padding(cpu_, filter, values.view());
  cpu_.synchronize();
  expect_same("gradient", gradient.values(), values);
}

INSTANTIATE_TEST_SUITE_P(DTypes, CudaElementwiseTest, ::testing::ValuesIn(kFloatTypes), name_of_dtype);

}  // namespace
}  // namespace tandem
