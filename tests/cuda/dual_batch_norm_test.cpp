#include "gpu_op_test.h"

namespace tandem {
namespace {

const BatchNormSpec kSpecs[] = {{.rows = 3000, .C = 64}, {.rows = 77, .C = 256},   {.rows = 7, .C = 8},
                                {.rows = 50, .C = 3},    {.rows = 129, .C = 2048}, {.rows = 1029, .C = 320},
                                {.rows = 333, .C = 33},  {.rows = 40000, .C = 16}};

class CudaDualBatchNormTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  // A branch on the host, as the CPU reads and writes it.
  struct OnHost {
    HostTensor x, scale, bias, mean, variance, dx, d_scale, d_bias;
  };
  // The same on the GPU.
  struct OnGpu {
    GpuTensor x, scale, bias, mean, variance, dx, d_scale, d_bias;
  };
  template <class Side>
  static DualBatchNorm::Branches inputs(const std::array<Side, 2>& sides) {
    const auto branch = [](const Side& side) {
      return DualBatchNorm::Branch{
          side.x.view(), {side.scale.view(), side.bias.view(), side.mean.view(), side.variance.view()}};
    };
    return {branch(sides[0]), branch(sides[1])};
  }
  template <class Side>
  static std::array<DualBatchNorm::BranchGradient, 2> outputs(const std::array<Side, 2>& sides,
                                                              GradMode mode) {
    const auto branch = [mode](const Side& side) {
      return DualBatchNorm::BranchGradient{
          side.dx.view(), {side.d_scale.view(), mode}, {side.d_bias.view(), mode}};
    };
    return {branch(sides[0]), branch(sides[1])};
  }

  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    spec_.tail = NormTail::AddRelu;
    shape_ = Shape{spec_.rows, spec_.C};
  }
  OnHost on_host(std::uint32_t seed) const {
    return {.x = rounded(HostTensor::random(shape_, seed, -1.0f, 3.0f), dtype_),
            .scale = HostTensor::random({spec_.C}, seed + 1, 0.5f, 1.5f),
            .bias = HostTensor::random({spec_.C}, seed + 2),
            .mean = HostTensor::random({spec_.C}, seed + 3),
            .variance = HostTensor::random({spec_.C}, seed + 4, 0.5f, 2.0f),
            .dx = HostTensor::unwritten(shape_),
            .d_scale = HostTensor::random({spec_.C}, seed + 5),
            .d_bias = HostTensor::random({spec_.C}, seed + 6)};
  }
  OnGpu copied(const OnHost& host) const {
    return {.x = on_gpu(host.x, dtype_),
            .scale = on_gpu(host.scale, DType::F32),
            .bias = on_gpu(host.bias, DType::F32),
            .mean = on_gpu(host.mean, DType::F32),
            .variance = on_gpu(host.variance, DType::F32),
            .dx = unwritten(shape_, dtype_),
            .d_scale = on_gpu(host.d_scale, DType::F32),
            .d_bias = on_gpu(host.d_bias, DType::F32)};
  }
  void check(NormStatistics statistics, bool two);

  DType dtype_ = DType::F32;
  BatchNormSpec spec_;
  Shape shape_;
};

void CudaDualBatchNormTest::check(NormStatistics statistics, bool two) {
  SCOPED_TRACE(fmt::format("statistics {}, {} addends", static_cast<int>(statistics), two ? 2 : 1));
  spec_.statistics = statistics;
  spec_.dtype = DType::F32;
  const auto reference = make_cpu_dual_batch_norm(spec_);
  spec_.dtype = dtype_;
  const auto op = make_cuda_dual_batch_norm(*context_, spec_);
  const auto mode = two ? GradMode::Accumulate : GradMode::Overwrite;
  const std::array<OnHost, 2> host{on_host(1), on_host(11)};
  const std::array<OnGpu, 2> gpu{copied(host[0]), copied(host[1])};
  const auto dy_host = rounded(HostTensor::random(shape_, 21), dtype_);
  const auto dy_second_host = rounded(HostTensor::random(shape_, 22), dtype_);
  const auto y_host = HostTensor::unwritten(shape_), evaluated_host = HostTensor::unwritten(shape_);
  const auto saved_host = HostTensor::opaque(reference->saved_bytes());
  const auto workspace_host = HostTensor::opaque(reference->workspace_bytes());
  const auto dy = on_gpu(dy_host, dtype_), dy_second = on_gpu(dy_second_host, dtype_);
  const auto y = unwritten(shape_, dtype_), evaluated = unwritten(shape_, dtype_);
  const auto saved = memory(op->saved_bytes()), workspace = memory(op->workspace_bytes());

  reference->forward_evaluate(cpu_, inputs(host), evaluated_host.view(), workspace_host.view());
  reference->forward_train(cpu_, inputs(host), y_host.view(), saved_host.view(), workspace_host.view());
  reference->backward(cpu_, inputs(host),
                      {.dy = {dy_host.view(), two ? dy_second_host.view() : TensorView()},
                       .saved = saved_host.view(),
                       .branches = outputs(host, mode),
                       .workspace = workspace_host.view()});
  cpu_.synchronize();
  op->forward_evaluate(*stream_, inputs(gpu), evaluated.view(), workspace.view());
  op->forward_train(*stream_, inputs(gpu), y.view(), saved.view(), workspace.view());
  DualBatchNorm::Backward backward{.dy = {dy.view(), two ? dy_second.view() : TensorView()},
                                   .saved = saved.view(),
                                   .branches = outputs(gpu, mode),
                                   .workspace = workspace.view()};
  op->backward(*stream_, inputs(gpu), backward);

  expect_near("y of evaluation", evaluated, evaluated_host, own_tolerance(dtype_));
  expect_near("y", y, y_host, own_tolerance(dtype_));
  for (std::size_t i = 0; i < 2; ++i) {
    SCOPED_TRACE(fmt::format("branch {}", i));
    expect_near("running mean", gpu[i].mean, host[i].mean, 1e-5);
    expect_near("running variance", gpu[i].variance, host[i].variance, 1e-5);
    expect_near("dx", gpu[i].dx, host[i].dx, own_tolerance(dtype_));
    expect_near("d_scale", gpu[i].d_scale, host[i].d_scale, 1e-4);
    expect_near("d_bias", gpu[i].d_bias, host[i].d_bias, 1e-4);
  }
  // Again, with the first dx in dy's memory: the same bits.
  const auto first_dx = gpu[0].dx.values(), second_dx = gpu[1].dx.values();
  backward.branches[0].dx = dy.view();
  op->backward(*stream_, inputs(gpu), backward);
  expect_same("dx in place", dy.values(), first_dx);
  expect_same("dx of branch 1 again", gpu[1].dx.values(), second_dx);
}

TEST_P(CudaDualBatchNormTest, TrainsAndEvaluatesAsTheCpu) {
  for (const auto statistics : {NormStatistics::Batch, NormStatistics::Running, NormStatistics::Identity}) {
    check(statistics, false);
    check(statistics, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaDualBatchNormTest, all_of(kSpecs), name_of_case);

}  // namespace
}  // namespace tandem
