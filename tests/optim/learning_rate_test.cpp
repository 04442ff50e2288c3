#include "optim/learning_rate.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(LearningRate, WarmsUpLinearlyFromTheFirstStep) {
  const LearningRateSpec spec{.base = 1.0, .warmup_steps = 4, .total_steps = 10};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 0), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 3), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 4), 1.0);
}

TEST(LearningRate, StepDropsAtEachMilestone) {
  const LearningRateSpec spec{.base = 1.0, .decay = Decay::Step, .total_steps = 100, .milestones = {30, 60}};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 29), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 30), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 59), 0.1);
  EXPECT_NEAR(learning_rate_at(spec, 60), 0.01, 1e-15);
}

TEST(LearningRate, CosineAndLinearRunFromBaseToTheirFinalFraction) {
  for (const auto decay : {Decay::Cosine, Decay::Linear}) {
    const LearningRateSpec spec{
        .base = 2.0, .decay = decay, .warmup_steps = 10, .total_steps = 110, .final_fraction = 0.1};
    EXPECT_DOUBLE_EQ(learning_rate_at(spec, 10), 2.0);
    EXPECT_DOUBLE_EQ(learning_rate_at(spec, 60), 1.1);
    EXPECT_NEAR(learning_rate_at(spec, 110), 0.2, 1e-12);
    EXPECT_NEAR(learning_rate_at(spec, 500), 0.2, 1e-12);  // past the end it stays
  }
}

}  // namespace
}  // namespace tandem
