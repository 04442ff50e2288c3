#include "report/economy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_record.h"
#include "report/tables.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Two ranks; the second epoch stands for the run: 32 images in 0.1 s, 24 J.
TEST(Economy, FollowsFromTheRecord) {
  const auto economy = economy_of(example_record());
  EXPECT_DOUBLE_EQ(*economy.items_per_s, 320.0);
  EXPECT_DOUBLE_EQ(*economy.items_per_s_per_rank, 160.0);
  EXPECT_DOUBLE_EQ(*economy.flops_utilization, 160.0 * 2e7 / 1e11);
  EXPECT_DOUBLE_EQ(*economy.training_j_per_item, 0.75);
  EXPECT_DOUBLE_EQ(*economy.kwh_per_epoch, 24.0 / 3.6e6);
  EXPECT_DOUBLE_EQ(*economy.rank_time_cost, 2 * 3.6 * 0.1 / 3600.0);
  EXPECT_DOUBLE_EQ(*economy.energy_cost, 0.25 * 24.0 / 3.6e6);
  EXPECT_DOUBLE_EQ(*economy.epoch_cost, *economy.rank_time_cost + *economy.energy_cost);
}

TEST(Economy, EnergyPerItemLeavesEvaluationOutAndEnergyPerEpochDoesNot) {
  auto run = example_record();
  run.epochs.pop_back();  // the first: 48 J, 32 of them training on 32 images
  EXPECT_DOUBLE_EQ(*economy_of(run).training_j_per_item, 1.0);
  EXPECT_DOUBLE_EQ(*economy_of(run).kwh_per_epoch, 48.0 / 3.6e6);
}

TEST(Economy, WhatIsNotKnownIsNotThereAndNeitherIsWhatNeedsIt) {
  auto run = example_record();
  run.peak.reset();
  EXPECT_EQ(economy_of(run).flops_utilization, std::nullopt);
  run = example_record();
  run.model.flops_per_item.reset();
  EXPECT_EQ(economy_of(run).flops_utilization, std::nullopt);

  run = example_record();
  for (auto& epoch : run.epochs) epoch.energy_j = epoch.training_energy_j = std::nullopt;
  const auto no_energy = economy_of(run);
  EXPECT_EQ(no_energy.training_j_per_item, std::nullopt);
  EXPECT_EQ(no_energy.energy_cost, std::nullopt);
  EXPECT_TRUE(no_energy.rank_time_cost);
  EXPECT_EQ(no_energy.epoch_cost, std::nullopt);  // less than the truth would be worse than nothing
  run.prices->per_kwh.reset();
  EXPECT_EQ(economy_of(run).epoch_cost, economy_of(run).rank_time_cost);
  run.prices.reset();
  EXPECT_EQ(economy_of(run).epoch_cost, std::nullopt);
}

TEST(Economy, TableNamesWhatIsMissing) {
  auto run = example_record();
  const auto whole = economy_table(run).markdown();
  EXPECT_THAT(whole, AllOf(HasSubstr("3.2 % of 0.1 TFLOP/s per rank (measure.peak_tflops)"),
                           HasSubstr("0.75 J"), HasSubstr("EUR")));
  run.peak.reset();
  run.prices.reset();
  for (auto& epoch : run.epochs) epoch.energy_j = epoch.training_energy_j = std::nullopt;
  EXPECT_THAT(economy_table(run).markdown(),
              AllOf(HasSubstr("set measure.peak_tflops"), Not(HasSubstr("EUR")), HasSubstr("n/a")));
}

TEST(TimeToFirstStep, IsStartUpAndTheLongestFirstStep) {
  auto run = example_record();  // 150 ms, then a first step of 80
  EXPECT_DOUBLE_EQ(*seconds_to_first_step(run), 0.23);
  run.timing[1].step_ms[0] = 100.0;
  EXPECT_DOUBLE_EQ(*seconds_to_first_step(run), 0.25);
  run.timing[1].step_ms[0].reset();
  EXPECT_EQ(seconds_to_first_step(run), std::nullopt);
  run.timing.clear();
  EXPECT_EQ(seconds_to_first_step(run), std::nullopt);
}

}  // namespace
}  // namespace tandem
