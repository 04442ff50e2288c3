#include "parallel/bucket_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/random_numbers.h"

namespace tandem {
namespace {

std::vector<ByteCount> bytes(std::initializer_list<std::int64_t> values) {
  std::vector<ByteCount> result;
  for (const auto value : values) result.emplace_back(value);
  return result;
}

using Starts = std::vector<std::size_t>;

TEST(BucketPlan, FillsBucketsUpToTheirCaps) {
  const auto tensors = bytes({4, 4, 4, 4, 4, 4});
  EXPECT_EQ(plan_buckets(tensors, Grouping::Bucketed, {ByteCount(4), ByteCount(8), ByteCount(0)}),
            (Starts{0, 1, 3, 5}));
}

TEST(BucketPlan, NeverSplitsALargeTensor) {
  const auto tensors = bytes({1, 100, 1, 1});
  EXPECT_EQ(plan_buckets(tensors, Grouping::Bucketed, {ByteCount(8), ByteCount(8), ByteCount(0)}),
            (Starts{0, 1, 2}));
}

TEST(BucketPlan, KeepsTheLastBucketSmall) {
  const auto tensors = bytes({4, 4, 4, 1, 1});
  EXPECT_EQ(plan_buckets(tensors, Grouping::Bucketed, {ByteCount(100), ByteCount(100), ByteCount(2)}),
            (Starts{0, 3}));
  // At least one tensor, however large.
  EXPECT_EQ(
      plan_buckets(bytes({4, 4, 9}), Grouping::Bucketed, {ByteCount(100), ByteCount(100), ByteCount(2)}),
      (Starts{0, 2}));
}

TEST(BucketPlan, OfOneTensorAndOfNone) {
  EXPECT_EQ(plan_buckets(bytes({4}), Grouping::Bucketed, {ByteCount(1), ByteCount(1), ByteCount(1)}),
            (Starts{0}));
  EXPECT_TRUE(plan_buckets({}, Grouping::Bucketed, {ByteCount(1), ByteCount(1), ByteCount(1)}).empty());
  EXPECT_TRUE(plan_buckets({}, Grouping::PerTensor, {}).empty());
}

TEST(BucketPlan, PerTensorGivesEachItsOwn) {
  EXPECT_EQ(plan_buckets(bytes({1, 2, 3}), Grouping::PerTensor, {}), (Starts{0, 1, 2}));
}

// For any sizes and caps: starts ascend from 0, and a bucket over its cap holds one tensor.
TEST(BucketPlan, HoldsItsPromisesForRandomSizes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomNumbers random(seed);
    std::vector<ByteCount> tensors;
    const auto count = 1 + random.below(40);
    for (std::int64_t i = 0; i < count; ++i) tensors.emplace_back(1 + random.below(50));
    const BucketLimits limits{ByteCount(1 + random.below(60)), ByteCount(1 + random.below(120)),
                              ByteCount(random.below(40))};
    const auto starts = plan_buckets(tensors, Grouping::Bucketed, limits);
    ASSERT_EQ(starts.front(), 0u);
    for (std::size_t b = 0; b < starts.size(); ++b) {
      const auto end = b + 1 < starts.size() ? starts[b + 1] : tensors.size();
      ASSERT_LT(starts[b], end);
      const auto sum = std::accumulate(tensors.begin() + static_cast<std::ptrdiff_t>(starts[b]),
                                       tensors.begin() + static_cast<std::ptrdiff_t>(end), ByteCount(0));
      auto cap = b == 0 ? limits.first : limits.each;
      if (b + 1 == starts.size() && limits.last > ByteCount(0)) cap = limits.last;
      ASSERT_TRUE(sum <= cap || end - starts[b] == 1) << "seed " << seed << " bucket " << b;
    }
  }
}

}  // namespace
}  // namespace tandem
