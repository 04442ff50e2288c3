#include "report/conclusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_record.h"

namespace tandem {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A step of 100 ms on two ranks that nothing limits but compute.
LimitFacts healthy() {
  return {.step_ms = 100.0,
          .data_wait_ms = 1.0,
          .compute_ms = 96.0,
          .backward_ms = 60.0,
          .exposed_ms = 2.0,
          .other_ms = 1.0,
          .rank_compute_ms = {90.0, 90.0},
          .buckets = 4,
          .bytes = 4'000'000,
          .latency_ms = 0.5,
          .wire_ms = 40.0,
          .peer_wait_ms = {0.0, 0.0},
          .bus_gb_per_s_in_training = 0.1,
          .bus_gb_per_s_standalone = 0.1,
          .reduction = {.grouping = "bucketed", .schedule = "overlapped", .update_order = "streamed"},
          .item = "images",
          .config = {{"comm.bucket_mb", "25"}, {"precision.reduce", "fp32"}, {"gpu.graph", "false"}}};
}

std::vector<Limit> limits(const LimitFacts& facts) {
  std::vector<Limit> found;
  for (const auto& conclusion : conclude(facts)) found.push_back(conclusion.limit);
  return found;
}

TEST(Conclusions, NothingButComputeIsComputeBound) {
  const auto found = conclude(healthy());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(headline_of(found[0]), "Compute bound (96.0 % of the step)");
  EXPECT_THAT(found[0].finding, HasSubstr("A faster link would gain at most 2.0 %"));
}

TEST(Conclusions, CommunicationBoundFromItsThresholdOn) {
  auto facts = healthy();
  facts.exposed_ms = 9.99;
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
  facts.exposed_ms = 10.0;
  EXPECT_EQ(limits(facts), std::vector{Limit::Communication});
  facts.exposed_ms = 50.0;
  const auto found = conclude(facts).front();
  EXPECT_THAT(found.finding,
              HasSubstr("waits 50.0 ms of every 100 ms step for all-reduces of 4,000,000 bytes"));
  EXPECT_THAT(found.finding, HasSubstr("2.00 times as fast"));
}

TEST(Conclusions, AdviceFollowsTheConfig) {
  auto facts = healthy();
  facts.exposed_ms = 50.0;
  facts.reduction.schedule = "after";
  facts.on_gpu = true;
  facts.bus_gb_per_s_standalone = 1.0;
  const auto advice = conclude(facts).front().advice;
  EXPECT_THAT(advice, Contains(HasSubstr("comm.schedule: overlapped (now after)")));
  EXPECT_THAT(advice, Contains(HasSubstr("precision.reduce: bf16 (now fp32)")));
  EXPECT_THAT(advice, Contains(HasSubstr("comm.bucket_mb larger (now 25)")));
  EXPECT_THAT(advice, Contains(HasSubstr("train.accumulation")));
}

TEST(Conclusions, LatencyBoundWhenMessagesNotBytesTakeTheTime) {
  auto facts = healthy();
  facts.exposed_ms = 20.0;
  facts.latency_ms = 4.99;
  EXPECT_EQ(limits(facts), std::vector{Limit::Communication});
  facts.latency_ms = 5.0;  // 4 buckets: half of the wire time
  const auto found = conclude(facts).front();
  EXPECT_EQ(found.limit, Limit::Latency);
  EXPECT_THAT(found.finding, HasSubstr("4 buckets × 5.00 ms"));
  facts.latency_ms.reset();  // unknown
  EXPECT_EQ(limits(facts), std::vector{Limit::Communication});
}

TEST(Conclusions, DataBoundFromItsThresholdOn) {
  auto facts = healthy();
  facts.data_wait_ms = 4.99;
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
  facts.data_wait_ms = 5.0;
  EXPECT_EQ(limits(facts), std::vector{Limit::Data});
  EXPECT_THAT(conclude(facts).front().advice, Contains(HasSubstr("data.kind: synthetic_images")));
  facts.data_wait_ms.reset();
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
}

TEST(Conclusions, ContentionFromItsThresholdOnAndBeyondItsNoise) {
  auto facts = healthy();
  facts.contention_ms = 4.99;
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
  facts.contention_ms = 5.0;
  facts.contention_noise_ms = 5.0;
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
  facts.contention_noise_ms = 4.9;
  EXPECT_EQ(limits(facts), std::vector{Limit::Contention});
}

TEST(Conclusions, TheStragglerIsTheRankThatWaitsLeast) {
  auto facts = healthy();
  facts.peer_wait_ms = {8.0, 3.01, 9.0};
  facts.rank_compute_ms = {80.0, 85.0, 80.0};
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});  // 4.99 ms ahead of the next
  facts.peer_wait_ms[1] = 3.0;
  const auto found = conclude(facts).front();
  EXPECT_EQ(found.title, "Straggler: rank 1");
  EXPECT_THAT(found.finding, HasSubstr("85.0 ms, those of the others 80.0 ms"));
  facts.peer_wait_ms = {8.0, 3.0, 3.0};  // two late ranks: no one to name
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
}

TEST(Conclusions, WaitingForALateRankIsNotHeldAgainstTheLink) {
  auto facts = healthy();
  facts.exposed_ms = 20.0;
  facts.wire_ms = 5.0;
  facts.peer_wait_ms = {30.0, 0.0};  // 15 ms on average: a quarter of 20 ms is the wire's
  EXPECT_EQ(limits(facts), std::vector{Limit::Straggler});
}

TEST(Conclusions, LaunchBoundFromItsThresholdOn) {
  auto facts = healthy();
  facts.on_gpu = true;
  facts.other_ms = 9.99;
  EXPECT_EQ(limits(facts), std::vector{Limit::Compute});
  facts.other_ms = 10.0;
  EXPECT_EQ(limits(facts), std::vector{Limit::Launch});
  EXPECT_THAT(conclude(facts).front().advice, Contains(HasSubstr("gpu.graph: true")));
}

TEST(Conclusions, SeveralLimitsComeLargestFirst) {
  auto facts = healthy();
  facts.data_wait_ms = 30.0;
  facts.exposed_ms = 20.0;
  facts.other_ms = 40.0;
  EXPECT_EQ(limits(facts), (std::vector{Limit::Launch, Limit::Data, Limit::Communication}));
}

TEST(Conclusions, FactsAreThoseOfTheRecord) {
  const auto facts = limit_facts(example_record());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->step_ms, 40.0);
  EXPECT_EQ(facts->compute_ms, 33.0);
  EXPECT_EQ(facts->exposed_ms, 4.0);
  EXPECT_EQ(facts->bytes, 312'256);
  EXPECT_EQ(facts->config.at("train.micro_batch"), "8");
}

TEST(Conclusions, ARunWithoutTimingHasNone) {
  auto run = example_record();
  run.timing.clear();
  EXPECT_TRUE(conclusions_of(run).empty());
  run = example_record();
  run.warmup_steps = 4;  // nothing is left
  EXPECT_TRUE(conclusions_of(run).empty());
}

}  // namespace
}  // namespace tandem
