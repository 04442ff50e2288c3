#include "report/statistics.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Statistics, OfNothingIsNoValue) {
  EXPECT_EQ(statistics_of(Samples{}), std::nullopt);
  EXPECT_EQ(statistics_of(Samples{std::nullopt, std::nullopt}), std::nullopt);
}

TEST(Statistics, SkipsWhatWasNotRecordedInsteadOfCountingIt0) {
  const auto found = statistics_of(Samples{4.0, std::nullopt, 8.0});
  EXPECT_EQ(found,
            (Statistics{.samples = 2, .mean = 6.0, .median = 6.0, .p95 = 7.8, .min = 4.0, .max = 8.0}));
}

TEST(Statistics, MedianOfAnOddNumberIsTheMiddleOneInAnyOrder) {
  EXPECT_EQ(statistics_of(Samples{9.0, 1.0, 5.0})->median, 5.0);
  EXPECT_EQ(statistics_of(Samples{5.0})->p95, 5.0);
}

TEST(Statistics, P95InterpolatesBetweenNeighbours) {
  Samples samples;
  for (int i = 0; i <= 100; ++i) samples.push_back(100.0 - i);
  EXPECT_EQ(statistics_of(samples)->p95, 95.0);
  samples.resize(11);  // 100 … 90
  EXPECT_DOUBLE_EQ(statistics_of(samples)->p95, 99.5);
}

TEST(ShareSum, WeighsLongStepsMoreAndSkipsHalfRecordedOnes) {
  ShareSum share;
  EXPECT_EQ(share.value(), std::nullopt);
  share.add(1.0, 10.0);
  share.add(2.0, 30.0);
  share.add(5.0, std::nullopt);
  share.add(std::nullopt, 5.0);
  EXPECT_EQ(share.value(), 3.0 / 40.0);
}

}  // namespace
}  // namespace tandem
