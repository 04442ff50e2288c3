#include "report/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_record.h"

namespace tandem {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const QuantitySummary& quantity(const RunSummary& summary, const std::string& name) {
  for (const auto& q : summary.quantities)
    if (q.name == name) return q;
  throw std::out_of_range(name);
}

TEST(RunSummary, LeavesWarmUpOut) {
  const auto summary = summarize(example_record());
  EXPECT_EQ(summary.measured_steps, 3);
  EXPECT_EQ(quantity(summary, "step").steps.max, 40.0);
  EXPECT_EQ(quantity(summary, "step").steps.samples, 6u);
  EXPECT_EQ(summary.exposed_share, 0.1);
  EXPECT_EQ(summary.busy_share, 0.4);
  EXPECT_EQ(summary.overlap_ratio, 0.75);
  EXPECT_EQ(summary.unaccounted_share, 0.0);
}

TEST(RunSummary, SharesAreOverAllRanksAndTheSlowestRankIsShown) {
  auto run = example_record();
  for (auto& exposed : run.timing[1].exposed_ms) exposed = 8.0;
  const auto summary = summarize(run);
  EXPECT_EQ(summary.exposed_share, 0.15);
  EXPECT_EQ(quantity(summary, "communication, exposed").steps.mean, 6.0);
  EXPECT_EQ(quantity(summary, "communication, exposed").slowest_rank_mean_ms, 8.0);
}

TEST(RunSummary, OverlapCountsWaitsForBucketsOnly) {
  auto run = example_record();
  for (auto& rank : run.timing)
    for (auto& exposed : rank.exposed_ms) exposed = 12.0;  // 8 ms of it on the compute stream itself
  EXPECT_EQ(summarize(run).overlap_ratio, 0.75);
}

TEST(RunSummary, WhatWasNotRecordedIsNotThere) {
  auto run = example_record();
  for (auto& rank : run.timing) rank.comm_busy_ms.assign(4, std::nullopt);
  const auto summary = summarize(run);
  EXPECT_EQ(summary.busy_share, std::nullopt);
  EXPECT_EQ(summary.overlap_ratio, std::nullopt);
  EXPECT_THROW(quantity(summary, "communication, busy"), std::out_of_range);

  run.timing.clear();
  EXPECT_THAT(summarize(run).quantities, IsEmpty());
  EXPECT_EQ(summarize(run).measured_steps, 0);
}

TEST(RunSummary, MoreWarmUpThanStepsLeavesNothing) {
  auto run = example_record();
  run.warmup_steps = 9;
  EXPECT_THAT(summarize(run).quantities, IsEmpty());
  EXPECT_EQ(summarize(run).measured_steps, 0);
  EXPECT_EQ(summarize(run).exposed_share, std::nullopt);
}

TEST(RunSummary, AStepThatDoesNotCloseIsSeen) {
  auto run = example_record();
  for (auto& rank : run.timing)
    for (auto& optimizer : rank.optimizer_ms) *optimizer -= 2.0;
  EXPECT_NEAR(*summarize(run).unaccounted_share, 0.05, 1e-12);
}

TEST(RunSummary, BusBandwidthIsBytesOverWire) {
  auto run = example_record();
  run.bucket_times->wire_ms = 312'256 / 1e6;  // 1 GB/s on 2 ranks
  EXPECT_DOUBLE_EQ(*summarize(run).bus_gb_per_s_in_training, 1.0);
  run.bucket_times.reset();
  EXPECT_EQ(summarize(run).bus_gb_per_s_in_training, std::nullopt);
}

TEST(RunSummary, ARankAloneReducesNothing) {
  auto run = example_record();
  EXPECT_EQ(reduced_bytes_per_step(run), 312'256);
  run.world_size = 1;
  EXPECT_EQ(reduced_bytes_per_step(run), 0);
  run.link.emulated = EmulatedRecord{.ranks = 8, .model = {}};
  EXPECT_EQ(reduced_bytes_per_step(run), 312'256);
  EXPECT_EQ(ranks_in_all_reduce(run), 8);
}

TEST(Epochs, ThroughputLeavesEvaluationAndCheckpointsOut) {
  EXPECT_EQ(items_per_s({.wall_s = 10.0, .eval_s = 1.0, .checkpoint_s = 1.0, .items = 800}), 100.0);
  EXPECT_EQ(items_per_s({.wall_s = 2.0, .eval_s = 1.0, .checkpoint_s = 1.0, .items = 800}), std::nullopt);
}

TEST(Epochs, CloseOverStepsEvaluationAndCheckpoint) {
  auto run = example_record();
  EXPECT_NEAR(*unaccounted_share(run, run.epochs[0]), 0.0, 1e-12);  // 80 + 40 ms + 50 + 30 of 200 ms
  EXPECT_NEAR(*unaccounted_share(run, run.epochs[1]), 0.2, 1e-12);  // 80 of 100 ms
  run.timing[0].other_ms[3] = 22.0;                                 // one rank explains the rest
  EXPECT_NEAR(*unaccounted_share(run, run.epochs[1]), 0.0, 1e-12);
  run.timing[1].backward_ms[3].reset();
  EXPECT_EQ(unaccounted_share(run, run.epochs[1]), std::nullopt);
  run.timing.clear();
  EXPECT_EQ(unaccounted_share(run, run.epochs[0]), std::nullopt);
}

TEST(Epochs, TheFirstStandsForTheRunOnlyIfAlone) {
  auto run = example_record();
  EXPECT_THAT(representative_epochs(run), ElementsAre(run.epochs[1]));
  run.epochs.pop_back();
  EXPECT_THAT(representative_epochs(run), ElementsAre(run.epochs[0]));
  run.epochs.clear();
  EXPECT_THAT(representative_epochs(run), IsEmpty());
}

// Steps after warm-up take 40 ms: the first epoch's 80 ms are no measure of a whole one.
TEST(Epochs, ARunThatEndsWithinOneIsExtrapolated) {
  auto run = example_record();
  run.epochs.pop_back();
  run.batch.steps_per_epoch = 1000;
  const auto epochs = representative_epochs(run);
  ASSERT_EQ(epochs.size(), 1U);
  EXPECT_EQ(epochs[0].steps, 1000);
  EXPECT_EQ(epochs[0].items, 16'000);
  EXPECT_DOUBLE_EQ(epochs[0].wall_s, 1000 * 0.04 + 0.05 + 0.03);
  EXPECT_DOUBLE_EQ(*items_per_s(epochs[0]), 16'000 / 40.0);
  // 32 J of training in 0.12 s and 16 J beside it.
  EXPECT_DOUBLE_EQ(*epochs[0].training_energy_j, 32.0 * 40.0 / 0.12);
  EXPECT_DOUBLE_EQ(*epochs[0].energy_j, 16.0 + 32.0 * 40.0 / 0.12);
  EXPECT_EQ(extrapolated_from_steps(run), 3);
  EXPECT_THAT(caveats(run), Contains("epoch extrapolated from 3 of 1000 steps"));

  run.timing.clear();  // nothing measured: all steps of the epoch, its warm-up too
  EXPECT_DOUBLE_EQ(representative_epochs(run)[0].wall_s, 0.12 * 500 + 0.05 + 0.03);
  EXPECT_EQ(extrapolated_from_steps(run), 2);
}

TEST(Epochs, OneThatWasCutShortStandsForNothingBesideAWholeOne) {
  auto run = example_record();
  run.epochs[1].steps = 1;
  EXPECT_THAT(representative_epochs(run), ElementsAre(run.epochs[0]));
  EXPECT_EQ(extrapolated_from_steps(run), std::nullopt);
}

TEST(Caveats, NameEverythingThatIsNotAnOrdinaryRun) {
  auto run = example_record();
  EXPECT_THAT(caveats(run), ElementsAre("paced to 1 Gbit/s + 50 us"));
  run.link.paced.reset();
  EXPECT_THAT(caveats(run), IsEmpty());
  run.link.emulated = EmulatedRecord{.ranks = 8, .model = {.latency_us = 2.5, .gbit_per_s = 200.0}};
  run.not_training = true;
  EXPECT_THAT(caveats(run), ElementsAre("emulated link, 8 ranks, 200 Gbit/s + 2.5 us", "not training"));
}

}  // namespace
}  // namespace tandem
