#include <gtest/gtest.h>

#include <tuple>

#include "device/cpu/cpu_stream.h"
#include "gpu_test.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cuda/cuda_ops.h"

namespace tandem {
namespace {

// Extents that epilogues take (multiples of 8), and ones that send every tail to the kernels behind the
// product.
const LinearSpec kSpecs[] = {{.rows = 129, .in = 64, .out = 200},
                             {.rows = 1024, .in = 96, .out = 48},
                             {.rows = 67, .in = 31, .out = 45},
                             {.rows = 1, .in = 7, .out = 9},
                             {.rows = 300, .in = 128, .out = 1}};

class CudaLinearTest : public GpuTest, public ::testing::WithParamInterface<std::tuple<int, DType>> {
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
    x_ = rounded(HostTensor::random({spec_.rows, spec_.in}, 1), dtype_);
    w_ = rounded(HostTensor::random({spec_.out, spec_.in}, 2), dtype_);
    bias_ = rounded(HostTensor::random({spec_.out}, 3), dtype_);
    dy_ = rounded(HostTensor::random({spec_.rows, spec_.out}, 4), dtype_);
  }

  void make(LinearTail tail, bool input_is_gelu) {
    spec_.tail = tail;
    spec_.input_is_gelu = input_is_gelu;
    reference_ = make_cpu_linear(spec_);
    auto spec = spec_;
    spec.dtype = dtype_;
    op_ = make_cuda_linear(*context_, spec);
    workspace_ =
        std::make_unique<GpuTensor>(*device_, *stream_, Shape{op_->workspace_bytes().value()}, DType::U8);
  }

  GpuTensor on_gpu(const HostTensor& values) const { return {*device_, *stream_, values, dtype_}; }
  GpuTensor unwritten(const Shape& shape, DType dtype) const { return {*device_, *stream_, shape, dtype}; }

  // `bias_dtype`: as the parameter store has it (fp32) or as the product takes it.
  void check_forward(LinearTail tail, DType bias_dtype) {
    make(tail, false);
    const bool with_bias = tail != LinearTail::None, with_gelu = tail == LinearTail::BiasGelu;
    const auto y_expected = HostTensor::unwritten(dy_.shape()),
               z_expected = HostTensor::unwritten(dy_.shape());
    reference_->forward(cpu_, {.x = x_.view(),
                               .w = w_.view(),
                               .bias = with_bias ? bias_.view() : TensorView(),
                               .y = y_expected.view(),
                               .z = with_gelu ? z_expected.view() : TensorView(),
                               .workspace = {}});
    cpu_.synchronize();
    const auto x = on_gpu(x_), w = on_gpu(w_), y = unwritten(dy_.shape(), dtype_);
    const auto z = unwritten(dy_.shape(), dtype_);
    const GpuTensor bias(*device_, *stream_, bias_, bias_dtype);
    op_->forward(*stream_, {.x = x.view(),
                            .w = w.view(),
                            .bias = with_bias ? bias.view() : TensorView(),
                            .y = y.view(),
                            .z = with_gelu ? z.view() : TensorView(),
                            .workspace = workspace_->view()});
    expect_near("y", y, y_expected, tolerance(dtype_));
    if (with_gelu) expect_near("z", z, z_expected, tolerance(dtype_));
  }

  inline static std::unique_ptr<CudaContext> context_;
  CpuStream cpu_;
  DType dtype_ = DType::F32;
  LinearSpec spec_;
  HostTensor x_, w_, bias_, dy_;
  std::unique_ptr<Linear> reference_, op_;
  std::unique_ptr<GpuTensor> workspace_;
};

TEST_P(CudaLinearTest, Forward) {
  check_forward(LinearTail::None, DType::F32);
}
TEST_P(CudaLinearTest, ForwardWithBias) {
  check_forward(LinearTail::Bias, DType::F32);
}
TEST_P(CudaLinearTest, ForwardWithBiasInTheComputeDtype) {
  check_forward(LinearTail::Bias, dtype_);
}
TEST_P(CudaLinearTest, ForwardWithGelu) {
  check_forward(LinearTail::BiasGelu, DType::F32);
}

TEST_P(CudaLinearTest, WeightAndBiasGradientsIntoEitherDtype) {
  make(LinearTail::Bias, false);
  const auto dw_expected = HostTensor::unwritten(w_.shape()),
             dbias_expected = HostTensor::unwritten(bias_.shape());
  reference_->backward_weight(cpu_, x_.view(), dy_.view(), {dw_expected.view(), GradMode::Overwrite}, {});
  reference_->backward_bias(cpu_, dy_.view(), {dbias_expected.view(), GradMode::Overwrite}, {});
  cpu_.synchronize();
  const auto x = on_gpu(x_), dy = on_gpu(dy_);
  for (const auto target : {DType::F32, dtype_, DType::BF16}) {
    const auto bound = std::max(tolerance(dtype_), tolerance(target));
    const auto dw = unwritten(w_.shape(), target), dbias = unwritten(bias_.shape(), target);
    op_->backward_weight(*stream_, x.view(), dy.view(), {dw.view(), GradMode::Overwrite}, workspace_->view());
    op_->backward_bias(*stream_, dy.view(), {dbias.view(), GradMode::Overwrite}, workspace_->view());
    expect_near(fmt::format("dw in {}", name_of(target)), dw, dw_expected, bound);
    expect_near(fmt::format("dbias in {}", name_of(target)), dbias, dbias_expected, bound);
  }
}

TEST_P(CudaLinearTest, GradientsAdd) {
  make(LinearTail::Bias, false);
  // Small integers: fp32 sums are exact, whatever their order.
  for (HostTensor* tensor : {&x_, &dy_}) {
    for (float& value : tensor->values()) value = std::round(2.0f * value);
  }
  const auto dw_expected = HostTensor::unwritten(w_.shape()),
             dbias_expected = HostTensor::unwritten(bias_.shape());
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate, GradMode::Accumulate}) {
    reference_->backward_weight(cpu_, x_.view(), dy_.view(), {dw_expected.view(), mode}, {});
    reference_->backward_bias(cpu_, dy_.view(), {dbias_expected.view(), mode}, {});
  }
  cpu_.synchronize();
  const auto x = on_gpu(x_), dy = on_gpu(dy_);
  const auto dw = unwritten(w_.shape(), DType::F32), dbias = unwritten(bias_.shape(), DType::F32);
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate, GradMode::Accumulate}) {
    op_->backward_weight(*stream_, x.view(), dy.view(), {dw.view(), mode}, workspace_->view());
    op_->backward_bias(*stream_, dy.view(), {dbias.view(), mode}, workspace_->view());
  }
  expect_same("dw", dw.values(), dw_expected);
  expect_same("dbias", dbias.values(), dbias_expected);
}

TEST_P(CudaLinearTest, InputGradient) {
  for (const bool input_is_gelu : {false, true}) {
    make(LinearTail::None, input_is_gelu);
    const auto z_host = rounded(HostTensor::random(x_.shape(), 9, -3.0f, 3.0f), dtype_);
    const auto expected = HostTensor::unwritten(x_.shape());
    reference_->backward_input(cpu_, dy_.view(), w_.view(), expected.view(),
                               input_is_gelu ? z_host.view() : TensorView(), {});
    cpu_.synchronize();
    const auto dy = on_gpu(dy_), w = on_gpu(w_), z = on_gpu(z_host), dx = unwritten(x_.shape(), dtype_);
    op_->backward_input(*stream_, dy.view(), w.view(), dx.view(), input_is_gelu ? z.view() : TensorView(),
                        workspace_->view());
    expect_near(input_is_gelu ? "dx through GELU" : "dx", dx, expected, tolerance(dtype_));
  }
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<int, DType>>& info) {
  return fmt::format("{}_{}", std::get<int>(info.param), name_of(std::get<DType>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaLinearTest,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kSpecs))),
                                            ::testing::Values(DType::F32, DType::BF16, DType::F16)),
                         name_of_case);

class CudaLinearCallTest : public GpuTest {};

TEST_F(CudaLinearCallTest, WrongTensorsThrowAtTheCall) {
  CudaContext context(*device_, {.autotune = false});
  const auto op = make_cuda_linear(context, {.rows = 8, .in = 16, .out = 24, .dtype = DType::BF16});
  const GpuTensor x(*device_, *stream_, Shape{8, 16}, DType::BF16),
      w(*device_, *stream_, Shape{24, 16}, DType::BF16);
  const GpuTensor y(*device_, *stream_, Shape{8, 24}, DType::BF16),
      fp32(*device_, *stream_, Shape{8, 16}, DType::F32);
  const GpuTensor workspace(*device_, *stream_, Shape{op->workspace_bytes().value()}, DType::U8);
  const Linear::Forward good{x.view(), w.view(), {}, y.view(), {}, workspace.view()};
  EXPECT_NO_THROW(op->forward(*stream_, good));
  auto bad = good;
  bad.x = fp32.view();
  EXPECT_THROW(op->forward(*stream_, bad), Error);
  bad = good;
  bad.w = y.view();
  EXPECT_THROW(op->forward(*stream_, bad), Error);
  CpuStream cpu;
  EXPECT_THROW(op->forward(cpu, good), Error);
  EXPECT_THROW((void)make_cuda_linear(context, {.rows = 8, .in = 16, .out = 24, .dtype = DType::I32}), Error);
}

}  // namespace
}  // namespace tandem
