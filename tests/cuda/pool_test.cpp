#include "gpu_op_test.h"

namespace tandem {
namespace {

// ResNet's stem, global averages, windows that overlap, leave gaps or end outside, odd channels, and a window
// whose places need two bytes.
const PoolSpec kSpecs[] = {
    {.N = 2, .H = 12, .W = 12, .C = 64, .window_h = 3, .window_w = 3, .stride = 2, .padding = 1},
    {.N = 3, .H = 7, .W = 9, .C = 5, .window_h = 2, .window_w = 3, .stride = 2},
    {.N = 2, .H = 11, .W = 6, .C = 16, .window_h = 3, .window_w = 2, .stride = 1, .padding = 1},
    {.N = 2, .H = 9, .W = 9, .C = 8, .window_h = 2, .window_w = 2, .stride = 3},
    {.N = 4, .H = 7, .W = 7, .C = 256, .window_h = 7, .window_w = 7},
    {.N = 1, .H = 20, .W = 20, .C = 3, .window_h = 17, .window_w = 17, .stride = 1, .padding = 2},
    {.N = 1, .H = 1, .W = 1, .C = 1}};

class CudaPoolTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  void check(PoolKind kind, bool two) {
    const auto dtype = std::get<DType>(GetParam());
    auto spec = kSpecs[std::get<int>(GetParam())];
    spec.kind = kind;
    const auto reference = make_cpu_pool(spec);
    spec.dtype = dtype;
    const auto op = make_cuda_pool(*context_, spec);
    const Shape image{spec.N, spec.H, spec.W, spec.C}, output{spec.N, spec.P(), spec.Q(), spec.C};
    // Few values, so that there are ties.
    auto x_host = HostTensor::random(image, 1);
    for (float& value : x_host.values()) value = std::round(4.0f * value);
    const auto dy_host = rounded(HostTensor::random(output, 2), dtype);
    const auto second_host = rounded(HostTensor::random(output, 3), dtype);
    const auto y_expected = HostTensor::unwritten(output), dx_expected = HostTensor::unwritten(image);
    const auto saved_host = HostTensor::opaque(reference->saved_bytes());
    reference->forward(cpu_, x_host.view(), y_expected.view(), saved_host.view());
    reference->backward(cpu_, {dy_host.view(), two ? second_host.view() : TensorView()}, saved_host.view(),
                        dx_expected.view());
    cpu_.synchronize();

    const auto x = on_gpu(x_host, dtype), dy = on_gpu(dy_host, dtype), second = on_gpu(second_host, dtype);
    const auto y = unwritten(output, dtype), dx = unwritten(image, dtype), saved = memory(op->saved_bytes());
    op->forward(*stream_, x.view(), y.view(), saved.view());
    op->backward(*stream_, {dy.view(), two ? second.view() : TensorView()}, saved.view(), dx.view());
    const bool maximum = kind == PoolKind::Max;
    expect_near(maximum ? "maxima" : "averages", y, y_expected, maximum ? 0.0 : own_tolerance(dtype));
    expect_near(maximum ? "dx of maxima" : "dx of averages", dx, dx_expected, own_tolerance(dtype));
  }
};

TEST_P(CudaPoolTest, MaximaAsTheCpu) {
  check(PoolKind::Max, false);
  check(PoolKind::Max, true);
}
TEST_P(CudaPoolTest, AveragesAsTheCpu) {
  check(PoolKind::Average, false);
  check(PoolKind::Average, true);
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaPoolTest, all_of(kSpecs), name_of_case);

class CudaPoolCallTest : public GpuOpTest {};

TEST_F(CudaPoolCallTest, ANanWins) {
  const auto op = make_cuda_pool(*context_, {.N = 1, .H = 2, .W = 2, .C = 1, .window_h = 2, .window_w = 2});
  const auto x = on_gpu(HostTensor::of<float>({1, 2, 2, 1}, {1.0f, std::nanf(""), 3.0f, 2.0f}), DType::F32);
  const auto y = on_gpu(HostTensor({1, 1, 1, 1}), DType::F32), saved = memory(op->saved_bytes());
  op->forward(*stream_, x.view(), y.view(), saved.view());
  EXPECT_TRUE(std::isnan(y.values()[0]));
}

TEST_F(CudaPoolCallTest, WrongTensorsThrowAtTheCall) {
  const auto op = make_cuda_pool(*context_, {.N = 1, .H = 2, .W = 2, .C = 8, .window_h = 2, .window_w = 2});
  const auto x = unwritten({1, 2, 2, 8}, DType::F32), y = unwritten({1, 1, 1, 8}, DType::F32);
  const auto saved = memory(op->saved_bytes());
  EXPECT_THROW(op->forward(*stream_, y.view(), y.view(), saved.view()), Error);
  EXPECT_THROW(op->forward(*stream_, x.view(), y.view(), {}), Error);
  EXPECT_THROW(op->forward(cpu_, x.view(), y.view(), saved.view()), Error);
}

}  // namespace
}  // namespace tandem
