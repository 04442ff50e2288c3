#include "gpu_op_test.h"

namespace tandem {
namespace {

// A warp or a block for each row, one pack or several, rows that do not fill their threads, odd widths, more
// rows than a grid takes at once.
const LayerNormSpec kSpecs[] = {{.rows = 67, .C = 768},  {.rows = 5000, .C = 64},  {.rows = 9, .C = 1024},
                                {.rows = 33, .C = 1600}, {.rows = 700, .C = 2048}, {.rows = 5, .C = 8192},
                                {.rows = 50, .C = 7},    {.rows = 12, .C = 100},   {.rows = 3, .C = 777},
                                {.rows = 1, .C = 1}};

class CudaLayerNormTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    reference_ = make_cpu_layer_norm(spec_);
    spec_.dtype = dtype_;
    op_ = make_cuda_layer_norm(*context_, spec_);
    rows_ = Shape{spec_.rows, spec_.C};
    first_ = rounded(HostTensor::random(rows_, 1, -1.0f, 2.0f), dtype_);
    second_ = rounded(HostTensor::random(rows_, 2), dtype_);
    scale_ = HostTensor::random({spec_.C}, 3, 0.5f, 1.5f);
    bias_ = HostTensor::random({spec_.C}, 4);
    dy_ = rounded(HostTensor::random(rows_, 5), dtype_);
    d_residual_ = rounded(HostTensor::random(rows_, 6), dtype_);
  }

  // What the kernels normalise: the sum as it is stored.
  HostTensor stored_sum(bool two) const {
    auto sum = first_.copy();
    for (std::int64_t i = 0; two && i < sum.elements(); ++i) sum[i] = rounded(sum[i] + second_[i], dtype_);
    return sum;
  }
  void check(bool two, bool residual);

  DType dtype_ = DType::F32;
  LayerNormSpec spec_;
  Shape rows_;
  HostTensor first_, second_, scale_, bias_, dy_, d_residual_;
  std::unique_ptr<LayerNorm> reference_, op_;
};

void CudaLayerNormTest::check(bool two, bool residual) {
  const auto what = fmt::format("{} addends, {} residual: ", two ? 2 : 1, residual ? "a" : "no");
  const auto x_host = stored_sum(two);
  const auto y_expected = HostTensor::unwritten(rows_), dx_expected = HostTensor::unwritten(rows_);
  const auto d_scale_expected = HostTensor::random({spec_.C}, 7),
             d_bias_expected = HostTensor::random({spec_.C}, 8);
  const auto d_scale = on_gpu(d_scale_expected, DType::F32), d_bias = on_gpu(d_bias_expected, DType::F32);
  const auto mode = two ? GradMode::Accumulate : GradMode::Overwrite;
  const auto saved_host = HostTensor::opaque(reference_->saved_bytes());
  const auto workspace_host = HostTensor::opaque(reference_->workspace_bytes());
  reference_->forward(
      cpu_, {{x_host.view(), {}}, scale_.view(), bias_.view(), {}, y_expected.view(), saved_host.view()});
  reference_->backward(cpu_, {.dy = dy_.view(),
                              .x = x_host.view(),
                              .scale = scale_.view(),
                              .saved = saved_host.view(),
                              .d_residual = residual ? d_residual_.view() : TensorView(),
                              .dx = dx_expected.view(),
                              .d_scale = {d_scale_expected.view(), mode},
                              .d_bias = {d_bias_expected.view(), mode},
                              .workspace = workspace_host.view()});
  cpu_.synchronize();

  const auto first = on_gpu(first_, dtype_), second = on_gpu(second_, dtype_), dy = on_gpu(dy_, dtype_);
  const auto d_residual = on_gpu(d_residual_, dtype_), sum = unwritten(rows_, dtype_);
  const auto y = unwritten(rows_, dtype_), dx = unwritten(rows_, dtype_);
  const auto scale = on_gpu(scale_, DType::F32), bias = on_gpu(bias_, DType::F32);
  const auto saved = memory(op_->saved_bytes()), workspace = memory(op_->workspace_bytes());
  op_->forward(*stream_, {{first.view(), two ? second.view() : TensorView()},
                          scale.view(),
                          bias.view(),
                          two ? sum.view() : TensorView(),
                          y.view(),
                          saved.view()});
  LayerNorm::Backward backward{.dy = dy.view(),
                               .x = two ? sum.view() : first.view(),
                               .scale = scale.view(),
                               .saved = saved.view(),
                               .d_residual = residual ? d_residual.view() : TensorView(),
                               .dx = dx.view(),
                               .d_scale = {d_scale.view(), mode},
                               .d_bias = {d_bias.view(), mode},
                               .workspace = workspace.view()};
  op_->backward(*stream_, backward);
  if (two) expect_same(what + "sum", sum.values(), x_host);
  expect_near(what + "y", y, y_expected, own_tolerance(dtype_));
  expect_near(what + "dx", dx, dx_expected, own_tolerance(dtype_));
  expect_near(what + "d_scale", d_scale, d_scale_expected, 1e-4);
  expect_near(what + "d_bias", d_bias, d_bias_expected, 1e-4);

  const auto first_dx = dx.values();
  backward.dx = residual ? d_residual.view() : dy.view();
  backward.d_scale.mode = backward.d_bias.mode = GradMode::Overwrite;
  op_->backward(*stream_, backward);
  expect_same(what + "dx in place", residual ? d_residual.values() : dy.values(), first_dx);
}

TEST_P(CudaLayerNormTest, AsTheCpu) {
  for (const bool two : {false, true}) {
    for (const bool residual : {false, true}) check(two, residual);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaLayerNormTest, all_of(kSpecs), name_of_case);

class CudaLayerNormCallTest : public GpuOpTest {};

TEST_F(CudaLayerNormCallTest, GradientsGoIntoSixteenBits) {
  const LayerNormSpec spec{.rows = 40, .C = 64};
  const auto op = make_cuda_layer_norm(*context_, spec);
  const auto rows = HostTensor::random({spec.rows, spec.C}, 1), ones = HostTensor::random({spec.C}, 2, 1, 1);
  const auto x = on_gpu(rows, DType::F32), dy = on_gpu(rows, DType::F32), scale = on_gpu(ones, DType::F32);
  const auto y = unwritten(rows.shape(), DType::F32), dx = unwritten(rows.shape(), DType::F32);
  const auto saved = memory(op->saved_bytes()), workspace = memory(op->workspace_bytes());
  op->forward(*stream_, {{x.view(), {}}, scale.view(), scale.view(), {}, y.view(), saved.view()});
  HostTensor d_bias_fp32;
  for (const auto dtype : kFloatTypes) {
    const auto d_scale = unwritten({spec.C}, dtype), d_bias = unwritten({spec.C}, dtype);
    op->backward(*stream_, {dy.view(),
                            x.view(),
                            scale.view(),
                            saved.view(),
                            {},
                            dx.view(),
                            {d_scale.view(), GradMode::Overwrite},
                            {d_bias.view(), GradMode::Overwrite},
                            workspace.view()});
    if (dtype == DType::F32) d_bias_fp32 = d_bias.values();
    expect_same(std::string(name_of(dtype)), d_bias.values(), rounded(d_bias_fp32, dtype));
  }
}

TEST_F(CudaLayerNormCallTest, ARowTooWideIsRefused) {
  EXPECT_THROW((void)make_cuda_layer_norm(*context_, {.rows = 2, .C = 8200}), Error);
  EXPECT_THROW((void)make_cuda_layer_norm(*context_, {.rows = 2, .C = 1025}), Error);
}

}  // namespace
}  // namespace tandem
