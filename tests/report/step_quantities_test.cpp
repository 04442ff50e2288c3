#include "report/step_quantities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

// S0 0, D 1, F 11, B 31, two waits 31..34 and 36..37 with the optimizer around them, E 40, next S0 42.
StepStamps step_with_two_waits() {
  return {.begin_ms = 0.0,
          .data_ready_ms = 1.0,
          .forward_end_ms = 11.0,
          .backward_end_ms = 31.0,
          .end_ms = 40.0,
          .next_begin_ms = 42.0,
          .waits = {{31.0, 34.0}, {36.0, 37.0}},
          .buckets = {{20.0, 30.0}, {30.0, 37.0}}};
}

double sum_of_parts(const StepTiming& t) {
  return *t.data_wait_ms + *t.forward_ms + *t.backward_ms + *t.exposed_ms + *t.optimizer_ms + *t.other_ms;
}

TEST(MeasureStep, GivesEachPartItsTime) {
  const auto t = measure_step(step_with_two_waits());
  EXPECT_EQ(t.step_ms, 42.0);
  EXPECT_EQ(t.data_wait_ms, 1.0);
  EXPECT_EQ(t.forward_ms, 10.0);
  EXPECT_EQ(t.backward_ms, 20.0);
  EXPECT_EQ(t.exposed_ms, 4.0);
  EXPECT_EQ(t.exposed_buckets_ms, 4.0);
  EXPECT_EQ(t.optimizer_ms, 5.0);
  EXPECT_EQ(t.other_ms, 2.0);
  EXPECT_EQ(t.comm_busy_ms, 17.0);
  EXPECT_EQ(t.buckets_ms, (std::vector<std::optional<double>>{10.0, 7.0}));
  EXPECT_EQ(sum_of_parts(t), *t.step_ms);
}

TEST(MeasureStep, OptimizerWorkBetweenWaitsIsNotExposed) {
  const auto before = measure_step(step_with_two_waits());
  auto stamps = step_with_two_waits();
  for (auto* stamp :
       {&stamps.waits[1].begin_ms, &stamps.waits[1].end_ms, &stamps.end_ms, &stamps.next_begin_ms})
    **stamp += 5.0;
  const auto after = measure_step(stamps);
  EXPECT_EQ(after.exposed_ms, before.exposed_ms);
  EXPECT_EQ(after.optimizer_ms, *before.optimizer_ms + 5.0);
  EXPECT_EQ(after.step_ms, *before.step_ms + 5.0);
}

TEST(MeasureStep, CommunicationOnTheComputeStreamIsExposedAndLeavesItsPhase) {
  auto stamps = step_with_two_waits();
  stamps.compute_stream_communication = {{4.0, 6.0}, {10.0, 12.5}};  // the second from forward into backward
  const auto t = measure_step(stamps);
  EXPECT_EQ(t.forward_ms, 7.0);
  EXPECT_EQ(t.backward_ms, 18.5);
  EXPECT_EQ(t.exposed_ms, 8.5);
  EXPECT_EQ(t.exposed_buckets_ms, 4.0);
  EXPECT_EQ(t.comm_busy_ms, 17.0);
  EXPECT_EQ(sum_of_parts(t), *t.step_ms);
}

TEST(MeasureStep, WaitInsideBackwardLeavesBackward) {
  auto stamps = step_with_two_waits();
  stamps.waits = {{15.0, 18.0}};
  const auto t = measure_step(stamps);
  EXPECT_EQ(t.backward_ms, 17.0);
  EXPECT_EQ(t.optimizer_ms, 9.0);
  EXPECT_EQ(sum_of_parts(t), *t.step_ms);
}

TEST(MeasureStep, RecomputationIsAPartOfBackward) {
  auto stamps = step_with_two_waits();
  EXPECT_EQ(measure_step(stamps).recompute_ms, std::nullopt) << "it does not apply";
  stamps.recomputes = {{11.0, 14.0}, {20.0, 22.5}};
  auto t = measure_step(stamps);
  EXPECT_EQ(t.recompute_ms, 5.5);
  EXPECT_EQ(t.backward_ms, 20.0);
  EXPECT_EQ(sum_of_parts(t), *t.step_ms);
  stamps.waits = {{13.0, 15.0}};  // a wait within it is not computation
  t = measure_step(stamps);
  EXPECT_EQ(t.recompute_ms, 4.5);
  EXPECT_EQ(t.backward_ms, 18.0);
  stamps.recomputes[1].end_ms.reset();
  t = measure_step(stamps);
  EXPECT_EQ(t.recompute_ms, std::nullopt);
  EXPECT_EQ(t.backward_ms, 18.0);
}

TEST(MeasureStep, ARankAloneCommunicatesFor0AndHasNoOverlap) {
  auto stamps = step_with_two_waits();
  stamps.waits.clear();
  stamps.buckets.clear();
  const auto t = measure_step(stamps);
  EXPECT_EQ(t.comm_busy_ms, 0.0);
  EXPECT_EQ(t.exposed_ms, 0.0);
  EXPECT_EQ(overlap_ratio(t.exposed_buckets_ms, t.comm_busy_ms), std::nullopt);
  EXPECT_EQ(sum_of_parts(t), *t.step_ms);
}

TEST(MeasureStep, OverlappingWaitsDoNotClose) {  // one stream cannot wait twice at once: the meter is wrong
  auto stamps = step_with_two_waits();
  stamps.waits = {{31.0, 35.0}, {33.0, 36.0}};
  const auto t = measure_step(stamps);
  EXPECT_EQ(sum_of_parts(t) - *t.step_ms, 2.0);
}

TEST(MeasureStep, WithoutTheDataStampForwardBeginsWithTheStep) {
  auto stamps = step_with_two_waits();
  stamps.data_ready_ms.reset();
  const auto t = measure_step(stamps);
  EXPECT_EQ(t.data_wait_ms, std::nullopt);
  EXPECT_EQ(t.forward_ms, 11.0);
}

TEST(MeasureStep, AMissingStampMakesItsQuantitiesUnknownAndNoOthers) {
  struct Case {
    std::optional<double> StepStamps::*stamp;
    std::vector<std::optional<double> StepTiming::*> unknown;
  };
  using S = StepStamps;
  using T = StepTiming;
  const std::vector<std::optional<double> T::*> all = {
      &T::step_ms,    &T::data_wait_ms, &T::forward_ms,         &T::backward_ms, &T::comm_busy_ms,
      &T::exposed_ms, &T::optimizer_ms, &T::exposed_buckets_ms, &T::other_ms};
  const std::vector<Case> cases = {{&S::begin_ms, {&T::step_ms, &T::data_wait_ms}},
                                   {&S::forward_end_ms, {&T::forward_ms, &T::backward_ms}},
                                   {&S::backward_end_ms, {&T::backward_ms, &T::optimizer_ms}},
                                   {&S::end_ms, {&T::optimizer_ms, &T::other_ms}},
                                   {&S::next_begin_ms, {&T::step_ms, &T::other_ms}}};
  for (const auto& c : cases) {
    auto stamps = step_with_two_waits();
    (stamps.*c.stamp).reset();
    const auto t = measure_step(stamps);
    for (const auto quantity : all)
      EXPECT_EQ((t.*quantity).has_value(),
                std::find(c.unknown.begin(), c.unknown.end(), quantity) == c.unknown.end());
  }
}

TEST(MeasureStep, AMissingWaitStampMakesExposedAndAllComputeUnknown) {
  for (const bool begin : {true, false}) {
    auto stamps = step_with_two_waits();
    (begin ? stamps.waits[1].begin_ms : stamps.waits[1].end_ms).reset();
    const auto t = measure_step(stamps);
    for (const auto& unknown :
         {t.exposed_ms, t.exposed_buckets_ms, t.forward_ms, t.backward_ms, t.optimizer_ms})
      EXPECT_EQ(unknown, std::nullopt);
    EXPECT_EQ(t.step_ms, 42.0);
    EXPECT_EQ(t.comm_busy_ms, 17.0);
  }
}

TEST(MeasureStep, AMissingBucketStampMakesBusyUnknown) {
  auto stamps = step_with_two_waits();
  stamps.buckets[0].end_ms.reset();
  const auto t = measure_step(stamps);
  EXPECT_EQ(t.comm_busy_ms, std::nullopt);
  EXPECT_EQ(t.buckets_ms, (std::vector<std::optional<double>>{std::nullopt, 7.0}));
  EXPECT_EQ(t.exposed_ms, 4.0);
}

TEST(MeasureStep, RefusesStampsOutOfOrderOrNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto stamps = step_with_two_waits();
  stamps.forward_end_ms = 0.5;  // before D
  EXPECT_THROW(measure_step(stamps), Error);
  stamps = step_with_two_waits();
  stamps.end_ms = nan;
  EXPECT_THROW(measure_step(stamps), Error);
  stamps = step_with_two_waits();
  stamps.waits[0] = {34.0, 31.0};
  EXPECT_THROW(measure_step(stamps), Error);
  stamps = step_with_two_waits();
  stamps.buckets[1].end_ms = nan;
  EXPECT_THROW(measure_step(stamps), Error);
}

TEST(UnionLength, CountsOverlapOnceAndGapsNever) {
  EXPECT_EQ(union_length_ms({}), 0.0);
  EXPECT_EQ(union_length_ms({{0.0, 2.0}, {5.0, 6.0}}), 3.0);                // gap
  EXPECT_EQ(union_length_ms({{0.0, 4.0}, {3.0, 6.0}}), 6.0);                // overlap
  EXPECT_EQ(union_length_ms({{0.0, 10.0}, {2.0, 3.0}, {4.0, 5.0}}), 10.0);  // inside
  EXPECT_EQ(union_length_ms({{5.0, 6.0}, {0.0, 2.0}, {2.0, 5.0}}), 6.0);    // touching, any order
  EXPECT_EQ(union_length_ms({{3.0, 3.0}}), 0.0);
  EXPECT_EQ(union_length_ms({{0.0, 2.0}, {std::nullopt, 6.0}}), std::nullopt);
}

TEST(OverlapRatio, IsClampedAndNeedsCommunication) {
  EXPECT_EQ(overlap_ratio(4.0, 16.0), 0.75);
  EXPECT_EQ(overlap_ratio(0.0, 16.0), 1.0);
  EXPECT_EQ(overlap_ratio(17.0, 16.0), 0.0);  // a wait ends a little after the communication it waits for
  EXPECT_EQ(overlap_ratio(1.0, 0.0), std::nullopt);
  EXPECT_EQ(overlap_ratio(std::nullopt, 16.0), std::nullopt);
  EXPECT_EQ(overlap_ratio(4.0, std::nullopt), std::nullopt);
}

TEST(UnaccountedShare, IsPositiveWhenTimeIsMissing) {
  EXPECT_EQ(unaccounted_share(75.0, 100.0), 0.25);
  EXPECT_EQ(unaccounted_share(125.0, 100.0), -0.25);
  EXPECT_EQ(unaccounted_share(1.0, 0.0), std::nullopt);
}

TEST(BusBandwidth, CountsWhatARingSends) {
  EXPECT_EQ(all_reduce_bus_gb_per_s(1e9, 2, 1000.0), 1.0);
  EXPECT_EQ(all_reduce_bus_gb_per_s(1e9, 4, 1000.0), 1.5);
  EXPECT_EQ(all_reduce_bus_gb_per_s(1e9, 1, 1000.0), std::nullopt);
  EXPECT_EQ(all_reduce_bus_gb_per_s(1e9, 2, 0.0), std::nullopt);
}

TEST(Scaling, WeakAndStrongAreDifferentNumbers) {
  EXPECT_EQ(weak_efficiency(300.0, 100.0, 4), 0.75);
  EXPECT_EQ(strong_speedup(300.0, 100.0), 3.0);
  EXPECT_THROW(weak_efficiency(300.0, 0.0, 4), Error);
  EXPECT_THROW(strong_speedup(300.0, 0.0), Error);
}

}  // namespace
}  // namespace tandem
