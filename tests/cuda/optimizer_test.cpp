#include <limits>

#include "gpu_op_test.h"

namespace tandem {
namespace {

// Segments that fill packs and ones that cut them, short ones next to each other, gaps of padding between and
// behind, and one of many chunks.
const std::vector<UpdateSegment> kSegments = {{0, 64, 0.1f},       {64, 67, 0.0f},     {128, 131, 0.2f},
                                              {131, 140, 0.0f},    {192, 5000, 0.05f}, {5056, 5057, 0.3f},
                                              {6000, 6400, 0.01f}, {8192, 20003, 0.1f}};
constexpr std::int64_t kElements = 20480;

struct Range {
  std::int64_t first, end;
};
// The whole array, and pieces that begin inside segments, aligned and not.
const Range kRanges[] = {{0, kElements}, {64, 8192}, {197, 6123}, {20100, 20400}};

class CudaOptimizerTest : public GpuOpTest, public ::testing::WithParamInterface<DType> {
 protected:
  DType gradient_dtype() const { return GetParam(); }

  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    inputs_.learning_rate = 0.05f;
    training_.loss_scale = 8.0f;
    training_.clip_factor = 0.5f;
  }

  // Three steps of both over one range; the whole arrays must agree, padding and what the range leaves out
  // included.
  template <class Spec, class MakeCpu, class MakeCuda>
  void check(const Spec& spec, MakeCpu make_cpu, MakeCuda make_cuda) {
    for (const auto& range : kRanges) {
      for (const bool working : {false, true})
        check_range(*make_cpu(spec), *make_cuda(*context_, spec), range, working);
    }
  }
  void check_range(OptimizerUpdate& reference, OptimizerUpdate& op, const Range& range, bool working);

  StepInputs inputs_;
  TrainingState training_;
};

TensorView part(const TensorView& whole, const Range& range) {
  auto* memory = static_cast<char*>(whole.raw()) + range.first * bytes_per_element(whole.dtype());
  return {memory, whole.dtype(), Shape{range.end - range.first}};
}

void CudaOptimizerTest::check_range(OptimizerUpdate& reference, OptimizerUpdate& op, const Range& range,
                                    bool working) {
  ASSERT_EQ(op.states(), reference.states());
  const Shape all{kElements};
  const auto master_host = HostTensor::random(all, 1), first_host = HostTensor(all),
             second_host = HostTensor(all);
  const auto master_before = master_host.copy();
  const auto master = on_gpu(master_host, DType::F32), first = on_gpu(first_host, DType::F32);
  const auto second = on_gpu(second_host, DType::F32);
  const auto copy_before = rounded(HostTensor::random(all, 2), DType::BF16);
  const auto copy = on_gpu(copy_before, DType::BF16);
  const auto inputs = values_on_gpu<StepInputs>({inputs_});
  const auto training = values_on_gpu<TrainingState>({training_});
  auto cpu_training = training_;
  const int states = op.states();
  for (int step = 0; step < 3; ++step) {
    const auto gradient_host =
        rounded(HostTensor::random(all, static_cast<std::uint32_t>(10 + step), -8, 8), gradient_dtype());
    const auto gradient = on_gpu(gradient_host, gradient_dtype());
    UpdateRange of_cpu{
        range.first, part(master_host.view(), range), {}, part(gradient_host.view(), range), {}};
    UpdateRange of_gpu{range.first,
                       part(master.view(), range),
                       working ? part(copy.view(), range) : TensorView(),
                       part(gradient.view(), range),
                       {}};
    const TensorView cpu_states[] = {first_host.view(), second_host.view()};
    const TensorView gpu_states[] = {first.view(), second.view()};
    for (int which = 0; which < states; ++which) {
      of_cpu.state[which] = part(cpu_states[which], range);
      of_gpu.state[which] = part(gpu_states[which], range);
    }
    cpu_training.applied_steps = step;
    training.write(std::vector<TrainingState>{cpu_training});
    reference.step(cpu_, of_cpu, {&inputs_, &cpu_training, nullptr});
    cpu_.synchronize();
    op.step(*stream_, of_gpu, {inputs.data(), training.data(), nullptr});
    stream_->synchronize();
  }
  const auto what = fmt::format("[{}, {}): ", range.first, range.end);
  expect_near(what + "master", master, master_host, 1e-6);
  if (states > 0) expect_near(what + "first state", first, first_host, 1e-6);
  if (states > 1) expect_near(what + "second state", second, second_host, 1e-6);
  // The copy follows the master where that moved, and only there.
  const auto master_now = master.values(), copy_now = copy.values();
  for (std::int64_t i = 0; i < kElements; ++i) {
    bool in_segment = false;
    for (const auto& segment : kSegments) in_segment |= i >= segment.begin && i < segment.end;
    const bool updated = training_.finite != 0 && in_segment && i >= range.first && i < range.end;
    if (!updated) {
      ASSERT_EQ(master_now[i], master_before[i]) << what << i;
    }
    ASSERT_EQ(copy_now[i], updated && working ? rounded(master_now[i], DType::BF16) : copy_before[i])
        << what << i;
  }
}

TEST_P(CudaOptimizerTest, Sgd) {
  for (const auto& [momentum, nesterov] : {std::pair{0.0f, false}, {0.9f, false}, {0.9f, true}}) {
    check(SgdSpec{momentum, nesterov, kSegments}, make_cpu_sgd, make_cuda_sgd);
  }
}

TEST_P(CudaOptimizerTest, AdamW) {
  check(AdamWSpec{.segments = kSegments}, make_cpu_adamw, make_cuda_adamw);
}

TEST_P(CudaOptimizerTest, AStepThatIsNotFiniteChangesNothing) {
  training_.finite = 0;
  check(AdamWSpec{.segments = kSegments}, make_cpu_adamw, make_cuda_adamw);
}

TEST_P(CudaOptimizerTest, GradientNorm) {
  for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{1003}, std::int64_t{3000000}}) {
    for (const float clip : {0.0f, 0.5f, 1e9f}) {
      const GradientNormSpec spec{.elements = elements, .clip_norm = clip};
      const auto reference = make_cpu_gradient_norm(spec);
      const auto op = make_cuda_gradient_norm(*context_, spec);
      const auto gradient_host = rounded(HostTensor::random({elements}, 1), gradient_dtype());
      const auto gradient = on_gpu(gradient_host, gradient_dtype()),
                 workspace = memory(op->workspace_bytes());
      const auto training = values_on_gpu<TrainingState>({training_});
      auto expected = training_;
      reference->measure(cpu_, gradient_host.view(), {nullptr, &expected, nullptr}, {});
      cpu_.synchronize();
      op->measure(*stream_, gradient.view(), {nullptr, training.data(), nullptr}, workspace.view());
      const auto actual = training.values()[0];
      EXPECT_EQ(actual.finite, 1);
      EXPECT_FLOAT_EQ(actual.gradient_norm, expected.gradient_norm);
      EXPECT_FLOAT_EQ(actual.clip_factor, expected.clip_factor);
    }
  }
}

TEST_P(CudaOptimizerTest, ANormThatIsNotFinite) {
  const auto op = make_cuda_gradient_norm(*context_, {.elements = 5000, .clip_norm = 1.0f});
  const auto workspace = memory(op->workspace_bytes());
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    auto gradient_host = HostTensor::random({5000}, 1);
    gradient_host[4321] = bad;
    const auto gradient = on_gpu(gradient_host, gradient_dtype());
    const auto training = values_on_gpu<TrainingState>({training_});
    op->measure(*stream_, gradient.view(), {nullptr, training.data(), nullptr}, workspace.view());
    const auto actual = training.values()[0];
    EXPECT_EQ(actual.finite, 0);
    EXPECT_FALSE(std::isfinite(actual.gradient_norm));
    EXPECT_EQ(actual.clip_factor, 1.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(GradientDTypes, CudaOptimizerTest, ::testing::ValuesIn(kFloatTypes), name_of_dtype);

class CudaStepBookkeepingTest : public GpuOpTest {};

// The squares of these overflow fp32; the gradients themselves are finite.
TEST_F(CudaStepBookkeepingTest, LargeGradientsAreFinite) {
  const auto op = make_cuda_gradient_norm(*context_, {.elements = 64});
  const auto gradient = on_gpu(HostTensor::random({64}, 1, 3e38f, 3e38f), DType::F32);
  const auto workspace = memory(op->workspace_bytes());
  const auto training = values_on_gpu<TrainingState>({TrainingState{.loss_scale = 65536.0f}});
  op->measure(*stream_, gradient.view(), {nullptr, training.data(), nullptr}, workspace.view());
  EXPECT_EQ(training.values()[0].finite, 1);
  EXPECT_NEAR(training.values()[0].gradient_norm, 8.0 * 3e38 / 65536.0, 1e28);
}

void expect_equal(const TrainingState& actual, const TrainingState& expected) {
  EXPECT_EQ(actual.applied_steps, expected.applied_steps);
  EXPECT_EQ(actual.loss_scale, expected.loss_scale);
  EXPECT_EQ(actual.steps_since_skip, expected.steps_since_skip);
  EXPECT_EQ(actual.skipped_steps, expected.skipped_steps);
}

TEST_F(CudaStepBookkeepingTest, AsTheCpu) {
  for (const bool dynamic : {false, true}) {
    const auto reference = make_cpu_step_bookkeeping(dynamic);
    const auto op = make_cuda_step_bookkeeping(*context_, dynamic);
    for (const int finite : {0, 1}) {
      for (const float scale : {1.0f, 1024.0f, kLargestLossScale}) {
        for (const int since : {0, kStepsUntilLossScaleDoubles - 1}) {
          TrainingState state{.applied_steps = 5, .loss_scale = scale, .gradient_norm = 3.0f};
          state.finite = finite;
          state.steps_since_skip = since;
          StepResults results;
          results.loss_sum = 2.0;
          const auto gpu_state = values_on_gpu<TrainingState>({state});
          const auto gpu_results = values_on_gpu<StepResults>({results});
          const StepPointers on_cpu{nullptr, &state, &results};
          const StepPointers on_device{nullptr, gpu_state.data(), gpu_results.data()};
          reference->begin(cpu_, on_cpu);
          reference->end(cpu_, on_cpu);
          cpu_.synchronize();
          op->begin(*stream_, on_device);
          op->end(*stream_, on_device);
          expect_equal(gpu_state.values()[0], state);
          const auto actual = gpu_results.values()[0];
          EXPECT_EQ(actual.loss_sum, 0.0);
          EXPECT_EQ(actual.gradient_norm, results.gradient_norm);
          EXPECT_EQ(actual.loss_scale, results.loss_scale);
          EXPECT_EQ(actual.finite, results.finite);
          EXPECT_EQ(actual.skipped_steps, results.skipped_steps);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem
