#include <gtest/gtest.h>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"

namespace tandem {
namespace {

class StepBookkeepingTest : public ::testing::Test {
 protected:
  // One step from begin to end, with or without an overflow.
  void step(StepBookkeeping& op, bool finite) {
    op.begin(stream_, pointers_);
    stream_.enqueue([this, finite] { training_.finite = finite ? 1 : 0; });
    op.end(stream_, pointers_);
  }

  CpuStream stream_;
  TrainingState training_{.loss_scale = 1024.0f};
  StepResults results_;
  StepPointers pointers_{nullptr, &training_, &results_};
};

TEST_F(StepBookkeepingTest, BeginClearsResults) {
  results_ = {.loss_sum = 3.0, .correct = 4, .valid_targets = 5, .gradient_norm = 6.0f, .finite = 0};
  make_cpu_step_bookkeeping(false)->begin(stream_, pointers_);
  stream_.synchronize();
  EXPECT_EQ(results_.loss_sum, 0.0);
  EXPECT_EQ(results_.correct, 0);
  EXPECT_EQ(results_.valid_targets, 0);
  EXPECT_EQ(results_.gradient_norm, 0.0f);
  EXPECT_EQ(results_.finite, 1);
}

TEST_F(StepBookkeepingTest, CountsAppliedAndSkippedStepsAndCopiesToResults) {
  const auto op = make_cpu_step_bookkeeping(false);
  for (const bool finite : {true, true, false, true, false}) step(*op, finite);
  training_.gradient_norm = 2.5f;
  stream_.synchronize();
  op->end(stream_, pointers_);  // the flag still says overflow
  stream_.synchronize();
  EXPECT_EQ(training_.applied_steps, 3);
  EXPECT_EQ(training_.skipped_steps, 3);
  EXPECT_EQ(training_.loss_scale, 1024.0f);  // a static scale stays
  EXPECT_EQ(results_.gradient_norm, 2.5f);
  EXPECT_EQ(results_.loss_scale, 1024.0f);
  EXPECT_EQ(results_.finite, 0);
  EXPECT_EQ(results_.skipped_steps, 3);
}

TEST_F(StepBookkeepingTest, DynamicScaleHalvesOnOverflowAndDoublesAfterARunOfGoodSteps) {
  const auto op = make_cpu_step_bookkeeping(true);
  step(*op, false);
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, 512.0f);
  for (int i = 0; i < kStepsUntilLossScaleDoubles - 1; ++i) step(*op, true);
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, 512.0f);
  step(*op, false);  // breaks the run one step before its end
  for (int i = 0; i < kStepsUntilLossScaleDoubles - 1; ++i) step(*op, true);
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, 256.0f);
  step(*op, true);
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, 512.0f);
  EXPECT_EQ(results_.loss_scale, 512.0f);
  for (int i = 0; i < kStepsUntilLossScaleDoubles; ++i) step(*op, true);  // the next run counts from zero
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, 1024.0f);
}

TEST_F(StepBookkeepingTest, DynamicScaleStaysWithinItsBounds) {
  const auto op = make_cpu_step_bookkeeping(true);
  for (int i = 0; i < 200; ++i) step(*op, false);
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, kSmallestLossScale);
  training_.loss_scale = kLargestLossScale;
  for (int i = 0; i < kStepsUntilLossScaleDoubles; ++i) step(*op, true);
  stream_.synchronize();
  EXPECT_EQ(training_.loss_scale, kLargestLossScale);
}

TEST_F(StepBookkeepingTest, MissingPointersThrow) {
  const auto op = make_cpu_step_bookkeeping(false);
  EXPECT_THROW(op->begin(stream_, {}), Error);
  EXPECT_THROW(op->end(stream_, {.results = &results_}), Error);
}

}  // namespace
}  // namespace tandem
