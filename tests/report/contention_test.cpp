#include "report/contention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_record.h"
#include "report/tables.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Segments = std::vector<ControlSegmentRecord>;

ControlSegmentRecord on(std::vector<std::vector<double>> step_ms,
                        std::vector<std::vector<double>> exposed_ms) {
  return {.all_reduce = true, .step_ms = std::move(step_ms), .exposed_ms = std::move(exposed_ms)};
}

ControlSegmentRecord off(std::vector<std::vector<double>> step_ms) {
  auto exposed = step_ms;
  for (auto& rank : exposed) rank.assign(rank.size(), 0.0);
  return {.all_reduce = false, .step_ms = std::move(step_ms), .exposed_ms = std::move(exposed)};
}

ContentionSummary summary_of(Segments segments) {
  return *summarize_control({.warmup_steps = 0, .segments = std::move(segments)});
}

TEST(Contention, IsWhatCommunicationSlowsComputeDownBy) {
  // 30 ms of compute become 33 while 5 ms of 20 are exposed.
  const auto control = summary_of({on({{38.0, 38.0}}, {{5.0, 5.0}}), off({{30.0, 30.0}})});
  EXPECT_EQ(control.step_on_ms.median, 38.0);
  EXPECT_EQ(control.step_off_ms.median, 30.0);
  EXPECT_EQ(control.comm_cost_ms.median, 8.0);
  EXPECT_EQ(control.exposed_ms.median, 5.0);
  EXPECT_EQ(control.contention_ms.median, 3.0);
  EXPECT_EQ(control.pairs, 1u);
  EXPECT_EQ(control.steps, 2u);
}

// Rank 0 computes 10 ms, rank 1 30 ms; both end together 5 ms later. The 20 ms that rank 0 waits for rank 1
// are in T_off too and must not be taken from contention.
TEST(Contention, LeavesTheWaitForALateRankOut) {
  const auto control = summary_of({on({{35.0}, {35.0}}, {{25.0}, {5.0}}), off({{10.0}, {30.0}})});
  EXPECT_EQ(control.comm_cost_ms.median, 5.0);
  EXPECT_EQ(control.exposed_ms.median, 5.0);
  EXPECT_EQ(control.contention_ms.median, 0.0);
}

// Each rank is the slow one in one of two steps: synchronous steps take 20 ms, a rank by itself 15 on
// average.
TEST(Contention, SkewCostIsTheSlowestOfEachStepOverTheSlowestOnAverage) {
  const auto control = summary_of(
      {on({{20.0, 20.0}, {20.0, 20.0}}, {{10.0, 0.0}, {0.0, 10.0}}), off({{10.0, 20.0}, {20.0, 10.0}})});
  EXPECT_EQ(control.step_off_ms.median, 20.0);
  EXPECT_EQ(control.skew_cost_ms.median, 5.0);
  EXPECT_EQ(control.contention_ms.median, 0.0);
}

TEST(Contention, RangeIsOverPairsOfNeighbours) {
  Segments segments;
  for (const double drift : {0.0, 10.0, 20.0}) {  // a machine that slows down moves both segments of a pair
    segments.push_back(on({{34.0 + drift}}, {{3.0}}));
    segments.push_back(off({{30.0 + drift}}));
  }
  const auto control = summary_of(segments);
  EXPECT_EQ(control.step_on_ms, (Spread{.median = 44.0, .min = 34.0, .max = 54.0}));
  EXPECT_EQ(control.contention_ms, (Spread{.median = 1.0, .min = 1.0, .max = 1.0}));
  EXPECT_TRUE(control.contention_shown());
}

TEST(Contention, ASegmentWithoutPairDoesNotCount) {
  EXPECT_EQ(summary_of({on({{34.0}}, {{3.0}}), off({{30.0}}), on({{99.0}}, {{0.0}})}).pairs, 1u);
  EXPECT_EQ(summarize_control({.warmup_steps = 0, .segments = {on({{34.0}}, {{3.0}})}}), std::nullopt);
  EXPECT_EQ(summarize_control({}), std::nullopt);
}

TEST(Contention, BelowZeroBeyondNoiseIsAMeasuringErrorAndSaidSo) {
  auto run = example_record();
  const auto section_of = [&](Segments segments) {
    run.control->segments = std::move(segments);
    return contention_section(run);
  };
  const auto rank = [](double ms) { return std::vector<std::vector<double>>{{ms}, {ms}}; };
  const auto contradiction =
      section_of({on(rank(30.0), rank(5.0)), off(rank(30.0)), on(rank(30.0), rank(5.0)), off(rank(31.0))});
  EXPECT_THAT(contradiction, HasSubstr("**Warning:**"));
  const auto noise =
      section_of({on(rank(34.0), rank(5.0)), off(rank(30.0)), on(rank(36.0), rank(5.0)), off(rank(30.0))});
  EXPECT_THAT(noise, Not(HasSubstr("**Warning:**")));
  EXPECT_THAT(noise, HasSubstr("its range contains 0"));
  const auto shown = section_of({on(rank(36.0), rank(5.0)), off(rank(30.0))});
  EXPECT_THAT(shown, Not(HasSubstr("its range contains 0")));
  EXPECT_THAT(shown, HasSubstr("not training"));
}

}  // namespace
}  // namespace tandem
