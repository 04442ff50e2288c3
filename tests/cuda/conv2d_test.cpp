#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <tuple>

#include "device/cpu/cpu_stream.h"
#include "gpu_test.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cuda/cuda_ops.h"

namespace tandem {
namespace {

// The kinds of convolution that networks have, on extents that no tile divides; the last two have odd
// channels.
const Conv2dSpec kSpecs[] = {
    {.N = 3, .H = 13, .W = 11, .C = 16, .K = 24, .R = 3, .S = 3, .padding = 1},
    {.N = 2, .H = 15, .W = 9, .C = 16, .K = 32, .R = 3, .S = 3, .stride = 2, .padding = 1},
    {.N = 5, .H = 7, .W = 7, .C = 64, .K = 40, .R = 1, .S = 1},
    {.N = 2, .H = 9, .W = 14, .C = 32, .K = 64, .R = 1, .S = 1, .stride = 2},
    {.N = 2, .H = 17, .W = 17, .C = 16, .K = 64, .R = 4, .S = 4},
    {.N = 2, .H = 29, .W = 31, .C = 3, .K = 64, .R = 7, .S = 7, .stride = 2, .padding = 3},
    {.N = 2, .H = 8, .W = 10, .C = 5, .K = 7, .R = 3, .S = 3, .padding = 1},
};

class CudaConv2dTest : public GpuTest, public ::testing::WithParamInterface<std::tuple<int, DType>> {
 protected:
  static void SetUpTestSuite() {
    GpuTest::SetUpTestSuite();
    if (device_) context_ = std::make_unique<CudaContext>(*device_, CudaBackendOptions{});
  }
  static void TearDownTestSuite() {
    context_.reset();
    GpuTest::TearDownTestSuite();
  }

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    x_ = rounded(HostTensor::random({spec_.N, spec_.H, spec_.W, spec_.C}, 1), dtype_);
    w_ = rounded(HostTensor::random({spec_.K, spec_.R, spec_.S, spec_.C}, 2), dtype_);
    dy_ = rounded(HostTensor::random({spec_.N, spec_.P(), spec_.Q(), spec_.K}, 3), dtype_);
    reference_ = make_cpu_conv2d(spec_);
    scratch_ = HostTensor::opaque(reference_->workspace_bytes());
    auto spec = spec_;
    spec.dtype = dtype_;
    op_ = make_cuda_conv2d(*context_, spec);
    workspace_ =
        std::make_unique<GpuTensor>(*device_, *stream_, Shape{op_->workspace_bytes().value()}, DType::U8);
  }

  GpuTensor on_gpu(const HostTensor& values) const { return {*device_, *stream_, values, dtype_}; }
  GpuTensor unwritten(const Shape& shape, DType dtype) const { return {*device_, *stream_, shape, dtype}; }

  HostTensor reference_weight_gradient() {
    auto dw = HostTensor::unwritten(w_.shape());
    reference_->backward_weight(cpu_, x_.view(), dy_.view(), {dw.view(), GradMode::Overwrite},
                                scratch_.view());
    cpu_.synchronize();
    return dw;
  }

  inline static std::unique_ptr<CudaContext> context_;
  CpuStream cpu_;
  DType dtype_ = DType::F32;
  Conv2dSpec spec_;
  HostTensor x_, w_, dy_, scratch_;
  std::unique_ptr<Conv2d> reference_, op_;
  std::unique_ptr<GpuTensor> workspace_;
};

TEST_P(CudaConv2dTest, Forward) {
  const auto expected = HostTensor::unwritten(dy_.shape());
  reference_->forward(cpu_, x_.view(), w_.view(), expected.view(), scratch_.view());
  cpu_.synchronize();
  const auto x = on_gpu(x_), w = on_gpu(w_), y = unwritten(dy_.shape(), dtype_);
  op_->forward(*stream_, x.view(), w.view(), y.view(), workspace_->view());
  expect_near("y", y, expected, tolerance(dtype_));
}

TEST_P(CudaConv2dTest, BackwardInput) {
  const auto expected = HostTensor::unwritten(x_.shape());
  reference_->backward_input(cpu_, dy_.view(), w_.view(), expected.view(), scratch_.view());
  cpu_.synchronize();
  const auto dy = on_gpu(dy_), w = on_gpu(w_), dx = unwritten(x_.shape(), dtype_);
  op_->backward_input(*stream_, dy.view(), w.view(), dx.view(), workspace_->view());
  expect_near("dx", dx, expected, tolerance(dtype_));
}

TEST_P(CudaConv2dTest, BackwardWeightIntoEitherDtype) {
  const auto expected = reference_weight_gradient();
  const auto x = on_gpu(x_), dy = on_gpu(dy_);
  for (const auto target : {DType::F32, dtype_, DType::BF16}) {
    const auto dw = unwritten(w_.shape(), target);
    op_->backward_weight(*stream_, x.view(), dy.view(), {dw.view(), GradMode::Overwrite}, workspace_->view());
    expect_near(fmt::format("dw in {}", name_of(target)), dw, expected,
                std::max(tolerance(dtype_), tolerance(target)));
  }
}

TEST_P(CudaConv2dTest, BackwardWeightAdds) {
  auto expected = reference_weight_gradient();
  for (float& value : expected.values()) value *= 3.0f;
  const auto x = on_gpu(x_), dy = on_gpu(dy_), dw = unwritten(w_.shape(), DType::F32);
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate, GradMode::Accumulate}) {
    op_->backward_weight(*stream_, x.view(), dy.view(), {dw.view(), mode}, workspace_->view());
  }
  expect_near("dw", dw, expected, tolerance(dtype_));
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<int, DType>>& info) {
  return fmt::format("{}_{}", std::get<int>(info.param), name_of(std::get<DType>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaConv2dTest,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kSpecs))),
                                            ::testing::Values(DType::F32, DType::BF16, DType::F16)),
                         name_of_case);

class CudaConv2dPlansTest : public GpuTest {};

TEST_F(CudaConv2dPlansTest, StrictFp32IsAsAccurateAsFp32) {
  CudaContext context(*device_, {.tf32 = false});
  const auto spec = kSpecs[0];
  const auto op = make_cuda_conv2d(context, spec);
  const auto x_host = HostTensor::random({spec.N, spec.H, spec.W, spec.C}, 1);
  const auto w_host = HostTensor::random({spec.K, spec.R, spec.S, spec.C}, 2);
  const auto expected = HostTensor::unwritten({spec.N, spec.P(), spec.Q(), spec.K});
  const auto reference = make_cpu_conv2d(spec);
  const auto scratch = HostTensor::opaque(reference->workspace_bytes());
  CpuStream cpu;
  reference->forward(cpu, x_host.view(), w_host.view(), expected.view(), scratch.view());
  cpu.synchronize();
  const GpuTensor x(*device_, *stream_, x_host, DType::F32), w(*device_, *stream_, w_host, DType::F32);
  const GpuTensor y(*device_, *stream_, expected.shape(), DType::F32);
  const GpuTensor workspace(*device_, *stream_, Shape{op->workspace_bytes().value()}, DType::U8);
  op->forward(*stream_, x.view(), w.view(), y.view(), workspace.view());
  expect_near("y", y, expected, 2e-6);
}

TEST_F(CudaConv2dPlansTest, TheSecondContextTakesItsPlansFromTheFile) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("cuda_plans.{}.json", ::getpid());
  auto spec = kSpecs[1];
  spec.dtype = DType::BF16;
  {
    CudaContext context(*device_, {.plan_cache_path = path});
    (void)make_cuda_conv2d(context, spec);
  }
  const auto written = std::filesystem::last_write_time(path);
  {
    CudaContext context(*device_, {.plan_cache_path = path});
    (void)make_cuda_conv2d(context, spec);
  }
  EXPECT_EQ(std::filesystem::last_write_time(path), written);
  std::filesystem::remove(path);
}

TEST_F(CudaConv2dPlansTest, DeterministicGradientsAreTheSameBits) {
  CudaContext context(*device_, {.deterministic = true});
  auto spec = kSpecs[0];
  spec.dtype = DType::BF16;
  const auto op = make_cuda_conv2d(context, spec);
  const GpuTensor x(*device_, *stream_, HostTensor::random({spec.N, spec.H, spec.W, spec.C}, 1), DType::BF16);
  const GpuTensor dy(*device_, *stream_, HostTensor::random({spec.N, spec.P(), spec.Q(), spec.K}, 2),
                     DType::BF16);
  const GpuTensor workspace(*device_, *stream_, Shape{op->workspace_bytes().value()}, DType::U8);
  const auto gradient = [&] {
    const GpuTensor dw(*device_, *stream_, Shape{spec.K, spec.R, spec.S, spec.C}, DType::F32);
    op->backward_weight(*stream_, x.view(), dy.view(), {dw.view(), GradMode::Overwrite}, workspace.view());
    return dw.values();
  };
  const auto first = gradient();
  for (int run = 0; run < 5; ++run) expect_same("dw", gradient(), first);
}

}  // namespace
}  // namespace tandem
