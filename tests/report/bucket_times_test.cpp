#include "report/bucket_times.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

// Two buckets whose wire takes 4 and 6 ms in each of two steps. A rank's duration is that plus what it waits.
BucketDurations two_ranks(double wait_of_rank_0, double wait_of_rank_1) {
  BucketDurations durations(2, 2, 2);
  for (int step = 0; step < 2; ++step) {
    for (int bucket = 0; bucket < 2; ++bucket) {
      const double wire = bucket == 0 ? 4.0 : 6.0;
      durations.at(0, step, bucket) = wire + (bucket == 0 ? wait_of_rank_0 : 0.0);
      durations.at(1, step, bucket) = wire + (bucket == 0 ? wait_of_rank_1 : 0.0);
    }
  }
  return durations;
}

// Compute waits a quarter of each duration.
std::optional<BucketTimes> summarized(const BucketDurations& durations) {
  BucketDurations waits = durations;
  for (int rank = 0; rank < waits.ranks(); ++rank)
    for (std::int64_t step = 0; step < waits.steps(); ++step)
      for (int bucket = 0; bucket < waits.buckets(); ++bucket)
        if (auto& wait = waits.at(rank, step, bucket)) *wait *= 0.25;
  return summarize_buckets(durations, waits);
}

TEST(SummarizeBuckets, WithoutWaitsAllIsWire) {
  const auto times = summarized(two_ranks(0.0, 0.0));
  ASSERT_TRUE(times);
  EXPECT_EQ(times->steps, 2);
  EXPECT_EQ(times->wire_ms, 10.0);
  EXPECT_EQ(times->peer_wait_ms, (std::vector<double>{0.0, 0.0}));
  EXPECT_EQ(times->buckets[0],
            (BucketTime{.rank_median_ms = {4.0, 4.0}, .rank_exposed_ms = {1.0, 1.0}, .wire_ms = 4.0}));
  EXPECT_EQ(times->buckets[1],
            (BucketTime{.rank_median_ms = {6.0, 6.0}, .rank_exposed_ms = {1.5, 1.5}, .wire_ms = 6.0}));
}

TEST(SummarizeBuckets, ALateRankRaisesThePeerWaitOfTheOthersAndNotTheWire) {
  const auto times = summarized(two_ranks(20.0, 0.0));  // rank 1 is 20 ms late, rank 0 waits
  EXPECT_EQ(times->wire_ms, 10.0);
  EXPECT_EQ(times->peer_wait_ms, (std::vector<double>{20.0, 0.0}));
  EXPECT_EQ(times->buckets[0].rank_median_ms, (std::vector<double>{24.0, 4.0}));
}

TEST(SummarizeBuckets, TheMinimumIsTakenStepByStep) {
  BucketDurations durations(2, 2, 1);  // each rank waits once: the minimum of medians would see no wait
  durations.at(0, 0, 0) = 14.0;
  durations.at(1, 0, 0) = 4.0;
  durations.at(0, 1, 0) = 4.0;
  durations.at(1, 1, 0) = 14.0;
  const auto times = summarized(durations);
  EXPECT_EQ(times->wire_ms, 4.0);
  EXPECT_EQ(times->peer_wait_ms, (std::vector<double>{5.0, 5.0}));
}

TEST(SummarizeBuckets, LeavesOutStepsThatARankDidNotRecord) {
  auto durations = two_ranks(0.0, 0.0);
  durations.at(0, 1, 1).reset();
  durations.at(0, 1, 0) = 1000.0;
  const auto times = summarized(durations);
  EXPECT_EQ(times->steps, 1);
  EXPECT_EQ(times->wire_ms, 10.0);
  EXPECT_EQ(times->peer_wait_ms, (std::vector<double>{0.0, 0.0}));
}

TEST(SummarizeBuckets, OfNothingIsNoValue) {
  EXPECT_EQ(summarized(BucketDurations(2, 3, 2)), std::nullopt);  // nothing recorded
  EXPECT_EQ(summarized(BucketDurations(2, 0, 2)), std::nullopt);
  EXPECT_EQ(summarized(BucketDurations(2, 3, 0)), std::nullopt);
}

TEST(BucketDurations, RefusesWhatIsNotThere) {
  BucketDurations durations(2, 3, 4);
  EXPECT_THROW(durations.at(2, 0, 0), Error);
  EXPECT_THROW(durations.at(0, 3, 0), Error);
  EXPECT_THROW(durations.at(0, 0, 4), Error);
  EXPECT_THROW(durations.at(-1, 0, 0), Error);
  EXPECT_THROW(BucketDurations(0, 1, 1), Error);
}

}  // namespace
}  // namespace tandem
