// The meter, proved on streams whose time is arithmetic: every statement here is exact, to rounding.
#include <gtest/gtest.h>

#include "report/run_summary.h"
#include "support/random_numbers.h"
#include "support/thread_ranks.h"
#include "train/simulated_step.h"
#include "train/timed_training.h"

namespace tandem {
namespace {

constexpr int kSteps = 6;

RunRecord train_rank(const TimedNetwork& network, const TimedRun& run, RankGroup& group) {
  VirtualDevice device;
  TimedWire wire(network, group);
  JobOptions options;
  options.total_steps = kSteps;
  options.schedule = run.schedule;
  options.trainer.update_order = run.update_order;
  options.trainer.samples = {.first = 1, .stride = 2, .count = 2};
  return TimedJob(network, {device, wire, group}, options, run.micro_steps).run();
}

// One network per rank; gives rank 0's record, which has the steps of all.
RunRecord train(const std::vector<TimedNetwork>& networks, const TimedRun& run) {
  RunRecord record;
  const auto thrown = ThreadRanks(static_cast<int>(networks.size())).run([&](RankGroup& group) {
    auto of_rank = train_rank(networks[static_cast<std::size_t>(group.rank().value)], run, group);
    if (group.is_root()) record = std::move(of_rank);
  });
  for (const auto& failure : thrown) {
    if (failure) std::rethrow_exception(failure);
  }
  return record;
}

// --- Against a simulation of two streams -------------------------------------------------------------------

TimedNetwork random_network(RandomNumbers& random) {
  const auto ms = [&](std::int64_t bound) { return static_cast<double>(random.below(8 * bound)) / 8.0; };
  TimedNetwork network;
  const auto layers = 1 + random.below(6);
  for (std::int64_t i = 0; i < layers; ++i) {
    network.layers.push_back({ms(3), ms(3), ms(3)});
    network.update_ms.push_back(ms(4));
    network.all_reduce_ms.push_back(0.125 + ms(10));
  }
  network.loss_ms = ms(2);
  network.recompute = random.below(2) == 1;
  return network;
}

void expect_step(const RunRecord& record, const SimulatedStep& expected, bool recompute) {
  for (const auto& rank : record.timing) {
    for (std::size_t i = 0; i < kSteps; ++i) {
      EXPECT_DOUBLE_EQ(rank.step_ms[i].value(), expected.step);
      EXPECT_DOUBLE_EQ(rank.forward_ms[i].value(), expected.forward);
      EXPECT_DOUBLE_EQ(rank.backward_ms[i].value(), expected.backward);
      ASSERT_EQ(rank.recompute_ms[i].has_value(), recompute);
      EXPECT_DOUBLE_EQ(rank.recompute_ms[i].value_or(0.0), expected.recompute);
      EXPECT_DOUBLE_EQ(rank.exposed_ms[i].value(), expected.exposed);
      EXPECT_DOUBLE_EQ(rank.comm_busy_ms[i].value(), expected.busy);
      EXPECT_DOUBLE_EQ(rank.optimizer_ms[i].value(), expected.optimizer);
      EXPECT_DOUBLE_EQ(rank.other_ms[i].value(), 0.0);
    }
  }
}

TEST(Meter, MeasuresWhatASimulationOfTwoStreamsGives) {
  RandomNumbers random(1);
  for (int trial = 0; trial < 40; ++trial) {
    const auto network = random_network(random);
    for (const auto schedule : {Schedule::After, Schedule::Overlapped}) {
      for (const auto order : {UpdateOrder::Streamed, UpdateOrder::Gated}) {
        const TimedRun run{.schedule = schedule, .update_order = order, .micro_steps = 1 + random.below(3)};
        const auto record = train({network, network}, run);
        ASSERT_EQ(record.timing.size(), 2u);
        expect_step(record, simulate(network, run), network.recomputes(0));
        if (HasFailure()) FAIL() << "in trial " << trial;
      }
    }
  }
}

// --- What single numbers must do ---------------------------------------------------------------------------

TimedNetwork two_layers() {
  return {.layers = {{1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}}, .update_ms = {0.5, 0.5}, .all_reduce_ms = {4.0, 3.0}};
}

// The step from the end of backward to the end of the update would grow by all of it.
TEST(Meter, DoesNotTakeAnUpdateBetweenTwoWaitsForCommunication) {
  auto network = two_layers();
  network.update_ms[0] = 5.0;  // longer than the all-reduce that it hides
  const auto before = train({network, network}, {}).timing[0];
  network.update_ms[0] = 10.0;
  const auto after = train({network, network}, {}).timing[0];
  EXPECT_DOUBLE_EQ(*after.exposed_ms[0], *before.exposed_ms[0]);
  EXPECT_GT(*after.exposed_ms[0], 0.0);
  EXPECT_DOUBLE_EQ(*after.optimizer_ms[0], *before.optimizer_ms[0] + 5.0);
}

TEST(Meter, FindsNoOverlapWhereEverythingIsSentAfterwards) {
  const auto network = two_layers();
  const auto summary = summarize(train({network, network}, {Schedule::After, UpdateOrder::Gated}));
  EXPECT_EQ(summary.overlap_ratio, 0.0);
  EXPECT_EQ(summary.exposed_share, summary.busy_share);
}

TEST(Meter, FindsAllOverlappedWhereAllIsHidden) {
  auto network = two_layers();
  network.layers[0].weight_gradient_ms = 20.0;
  network.all_reduce_ms = {4.0, 0.0};
  const auto summary = summarize(train({network, network}, {}));
  EXPECT_EQ(summary.overlap_ratio, 1.0);
  EXPECT_EQ(summary.exposed_share, 0.0);
  EXPECT_GT(summary.busy_share.value(), 0.0);
}

TEST(Meter, GivesARankAloneNoShareAndNoRatio) {
  const auto summary = summarize(train({two_layers()}, {}));
  EXPECT_EQ(summary.exposed_share, 0.0);
  EXPECT_EQ(summary.busy_share, 0.0);
  EXPECT_EQ(summary.overlap_ratio, std::nullopt);
}

TEST(Meter, ShowsALateRankAsItsPeersWaitAndNotAsWire) {
  const auto network = two_layers();
  auto late = network;
  late.layers[0].forward_ms += 6.0;
  const auto even = train({network, network, network}, {});
  const auto skewed = train({network, late, network}, {});
  ASSERT_TRUE(even.bucket_times && skewed.bucket_times);
  EXPECT_DOUBLE_EQ(even.bucket_times->wire_ms, 7.0);
  EXPECT_DOUBLE_EQ(skewed.bucket_times->wire_ms, 7.0);
  EXPECT_EQ(even.bucket_times->peer_wait_ms, (std::vector<double>{0.0, 0.0, 0.0}));
  for (const std::size_t peer : {0u, 2u}) {
    EXPECT_DOUBLE_EQ(skewed.bucket_times->peer_wait_ms[peer], 6.0);
    for (std::size_t step = 0; step < kSteps; ++step) {
      EXPECT_DOUBLE_EQ(*skewed.timing[peer].exposed_ms[step], *even.timing[peer].exposed_ms[step] + 6.0);
    }
  }
  EXPECT_DOUBLE_EQ(skewed.bucket_times->peer_wait_ms[1], 0.0);
  EXPECT_EQ(skewed.timing[1].exposed_ms, even.timing[1].exposed_ms);
}

TEST(Meter, KeepsSampledStepsStampByStamp) {
  auto network = two_layers();
  const auto record = train({network, network}, {});
  ASSERT_EQ(record.timelines.size(), 2u);
  EXPECT_EQ(record.timelines[0].step, 1);
  EXPECT_EQ(record.timelines[1].step, 3);
  for (const auto& step : record.timelines) {
    ASSERT_EQ(step.ranks.size(), 2u);
    for (const auto& rank :
         step.ranks) {  // forward 2.5; the last layer's gradients, the first's; updates 0.5
      EXPECT_EQ(rank.forward_end_ms, (std::vector<double>{2.5}));
      EXPECT_EQ(rank.backward_end_ms, (std::vector<double>{5.5}));
      EXPECT_EQ(rank.ready_ms, (std::vector<double>{3.5, 5.5}));
      EXPECT_EQ(rank.reduce_begin_ms, (std::vector<double>{3.5, 7.5}));
      EXPECT_EQ(rank.reduce_end_ms, (std::vector<double>{7.5, 10.5}));
      EXPECT_EQ(rank.wait_begin_ms, (std::vector<double>{5.5, 8.0}));
      EXPECT_EQ(rank.wait_end_ms, (std::vector<double>{7.5, 10.5}));
      EXPECT_EQ(rank.end_ms, 11.0);
      EXPECT_EQ(rank.next_begin_ms, 11.0);
      EXPECT_LE(rank.load_begin_ms, rank.load_end_ms);
      EXPECT_GE(rank.clock_error_ms, 0.0);
    }
  }
  EXPECT_EQ(record.timelines[0].ranks[0].begin_ms, 0.0);
  EXPECT_NEAR(record.timelines[1].ranks[0].begin_ms, 22.0, 1e-3);  // two steps on
}

TEST(Meter, StampsEachForwardPassThatRunsAgain) {
  auto network = two_layers();
  network.recompute = true;
  network.layers.push_back({0.25, 1.0, 1.0});
  network.layers[1].forward_ms = 0.75;
  network.update_ms = {0.5, 0.5, 0.5};
  network.all_reduce_ms = {4.0, 3.0, 1.0};
  const auto record = train({network, network}, {.micro_steps = 2});
  ASSERT_EQ(record.timelines.size(), 2u);
  for (const auto& step : record.timelines) {
    // Forward 2.5; backward: the last layer 2, then 0.75 + 2 and 1 + 1, of which the first are recomputation.
    for (const auto& rank : step.ranks) {
      EXPECT_EQ(rank.forward_end_ms, (std::vector<double>{2.5, 11.75}));
      EXPECT_EQ(rank.recompute_begin_ms, (std::vector<double>{4.5, 7.25, 13.75, 16.5}));
      EXPECT_EQ(rank.recompute_end_ms, (std::vector<double>{5.25, 8.25, 14.5, 17.5}));
      EXPECT_EQ(rank.backward_end_ms, (std::vector<double>{9.25, 18.5}));
      EXPECT_EQ(rank.ready_ms, (std::vector<double>{12.75, 15.5, 18.5}));
    }
  }
}

TEST(StepSampling, TakesStepsFromTheMiddlesOfEqualParts) {
  const auto taken = [](const StepSampling& sampling) {
    std::vector<std::int64_t> steps;
    for (std::int64_t step = 0; step < 40; ++step) {
      if (sampling.includes(step)) steps.push_back(step);
    }
    return steps;
  };
  EXPECT_EQ(taken(spread_over(10, 40, 3)), (std::vector<std::int64_t>{15, 25, 35}));
  EXPECT_EQ(taken(spread_over(10, 12, 3)), (std::vector<std::int64_t>{10, 11}));
  EXPECT_TRUE(taken(spread_over(10, 10, 3)).empty());
  EXPECT_TRUE(taken(spread_over(10, 5, 3)).empty());
}

TEST(Meter, ClosesExactly) {
  auto network = two_layers();
  for (const bool recompute : {false, true}) {
    network.recompute = recompute;
    const auto summary = summarize(train({network, network}, {}));
    ASSERT_TRUE(summary.unaccounted_share);
    EXPECT_NEAR(*summary.unaccounted_share, 0.0, 1e-12);
  }
}

}  // namespace
}  // namespace tandem
