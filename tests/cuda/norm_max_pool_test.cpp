#include "gpu_op_test.h"

namespace tandem {
namespace {

// Whole packs and odd channels, even and odd images, more channels than a block covers.
const NormMaxPoolSpec kSpecs[] = {{.N = 2, .H = 16, .W = 12, .C = 64}, {.N = 3, .H = 7, .W = 9, .C = 8},
                                  {.N = 2, .H = 5, .W = 6, .C = 3},    {.N = 1, .H = 1, .W = 2, .C = 16},
                                  {.N = 2, .H = 9, .W = 4, .C = 320},  {.N = 9, .H = 56, .W = 56, .C = 16}};

class CudaNormMaxPoolTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    x_ = rounded(HostTensor::random({spec_.N, spec_.H, spec_.W, spec_.C}, 1, -1.0f, 3.0f), dtype_);
    y_shape_ = Shape{spec_.N, spec_.pool().P(), spec_.pool().Q(), spec_.C};
  }
  void check(NormStatistics statistics, bool two);

  DType dtype_ = DType::F32;
  NormMaxPoolSpec spec_;
  HostTensor x_;
  Shape y_shape_;
};

void CudaNormMaxPoolTest::check(NormStatistics statistics, bool two) {
  SCOPED_TRACE(fmt::format("statistics {}, {} addends", static_cast<int>(statistics), two ? 2 : 1));
  spec_.statistics = statistics;
  spec_.dtype = DType::F32;
  const auto reference = make_cpu_norm_max_pool(spec_);
  spec_.dtype = dtype_;
  const auto op = make_cuda_norm_max_pool(*context_, spec_);
  const auto mode = two ? GradMode::Accumulate : GradMode::Overwrite;
  const Shape channels{spec_.C};
  const auto dy_host = rounded(HostTensor::random(y_shape_, 2), dtype_);
  const auto dy_second_host = rounded(HostTensor::random(y_shape_, 3), dtype_);
  const auto scale_host = HostTensor::random(channels, 4, -1.5f, 1.5f),
             bias_host = HostTensor::random(channels, 5);
  const auto mean_host = HostTensor::random(channels, 6);
  const auto variance_host = HostTensor::random(channels, 7, 0.5f, 2.0f);
  const auto d_scale_host = HostTensor::random(channels, 8), d_bias_host = HostTensor::random(channels, 9);

  const auto x = on_gpu(x_, dtype_), dy = on_gpu(dy_host, dtype_), dy_second = on_gpu(dy_second_host, dtype_);
  const auto y = unwritten(y_shape_, dtype_), evaluated = unwritten(y_shape_, dtype_);
  const auto dx = unwritten(x_.shape(), dtype_);
  const auto scale = on_gpu(scale_host, DType::F32), bias = on_gpu(bias_host, DType::F32);
  const auto mean = on_gpu(mean_host, DType::F32), variance = on_gpu(variance_host, DType::F32);
  const auto d_scale = on_gpu(d_scale_host, DType::F32), d_bias = on_gpu(d_bias_host, DType::F32);
  const auto saved = memory(op->saved_bytes()), workspace = memory(op->workspace_bytes());

  const auto y_host = HostTensor::unwritten(y_shape_), evaluated_host = HostTensor::unwritten(y_shape_);
  const auto dx_host = HostTensor::unwritten(x_.shape());
  const auto saved_host = HostTensor::opaque(reference->saved_bytes());
  const auto workspace_host = HostTensor::opaque(reference->workspace_bytes());
  const BatchNormParameters of_host{scale_host.view(), bias_host.view(), mean_host.view(),
                                    variance_host.view()};
  const BatchNormParameters of_gpu{scale.view(), bias.view(), mean.view(), variance.view()};
  reference->forward_evaluate(cpu_, of_host,
                              {x_.view(), evaluated_host.view(), saved_host.view(), workspace_host.view()});
  reference->forward_train(cpu_, of_host,
                           {x_.view(), y_host.view(), saved_host.view(), workspace_host.view()});
  reference->backward(cpu_, of_host,
                      {.dy = {dy_host.view(), two ? dy_second_host.view() : TensorView()},
                       .x = x_.view(),
                       .saved = saved_host.view(),
                       .dx = dx_host.view(),
                       .d_scale = {d_scale_host.view(), mode},
                       .d_bias = {d_bias_host.view(), mode},
                       .workspace = workspace_host.view()});
  cpu_.synchronize();
  op->forward_evaluate(*stream_, of_gpu, {x.view(), evaluated.view(), saved.view(), workspace.view()});
  op->forward_train(*stream_, of_gpu, {x.view(), y.view(), saved.view(), workspace.view()});
  op->backward(*stream_, of_gpu,
               {.dy = {dy.view(), two ? dy_second.view() : TensorView()},
                .x = x.view(),
                .saved = saved.view(),
                .dx = dx.view(),
                .d_scale = {d_scale.view(), mode},
                .d_bias = {d_bias.view(), mode},
                .workspace = workspace.view()});
  expect_near("y of evaluation", evaluated, evaluated_host, own_tolerance(dtype_));
  expect_near("y", y, y_host, own_tolerance(dtype_));
  expect_near("running mean", mean, mean_host, 1e-5);
  expect_near("running variance", variance, variance_host, 1e-5);
  expect_near("dx", dx, dx_host, own_tolerance(dtype_));
  expect_near("d_scale", d_scale, d_scale_host, 1e-4);
  expect_near("d_bias", d_bias, d_bias_host, 1e-4);
}

TEST_P(CudaNormMaxPoolTest, TrainsAndEvaluatesAsTheCpu) {
  for (const auto statistics : {NormStatistics::Batch, NormStatistics::Running, NormStatistics::Identity}) {
    // Two values have a variance that differences of one bit turn around.
    if (statistics == NormStatistics::Batch && spec_.norm().rows <= 2) continue;
    check(statistics, false);
    check(statistics, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaNormMaxPoolTest, all_of(kSpecs), name_of_case);

class CudaNormMaxPoolCallTest : public GpuOpTest {};

TEST_F(CudaNormMaxPoolCallTest, ANanIsSeen) {
  const auto op = make_cuda_norm_max_pool(
      *context_, {.N = 1, .H = 4, .W = 4, .C = 8, .statistics = NormStatistics::Identity});
  auto x_host = HostTensor::random({1, 4, 4, 8}, 1, -2.0f, -1.0f);
  x_host[0] = std::nanf("");
  const auto x = on_gpu(x_host, DType::F32), y = unwritten({1, 2, 2, 8}, DType::F32);
  const auto ones = on_gpu(HostTensor::random({8}, 2, 1.0f, 1.0f), DType::F32);
  const auto zeros = on_gpu(HostTensor({8}), DType::F32);
  const auto saved = memory(op->saved_bytes()), workspace = memory(op->workspace_bytes());
  op->forward_train(*stream_, {ones.view(), zeros.view(), {}, {}},
                    {x.view(), y.view(), saved.view(), workspace.view()});
  const auto found = y.values();
  EXPECT_TRUE(std::isnan(found[0]));
  for (std::int64_t i = 1; i < found.elements(); ++i) EXPECT_EQ(found[i], 0.0f) << i;
}

}  // namespace
}  // namespace tandem
