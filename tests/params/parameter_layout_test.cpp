#include "params/parameter_layout.h"
#include "params/blocked_filter.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "support/random_numbers.h"

namespace tandem {
namespace {

ParameterSpec spec(const std::string& name, std::int64_t elements) {
  return {.name = name, .canonical = {elements}, .stored = {elements}};
}

TEST(ParameterLayout, AlignsTensorsAndBucketsAndCountsWithoutPadding) {
  const std::vector<std::size_t> starts{0, 2};
  const ParameterLayout layout({spec("a", 3), spec("b", 200), spec("c", 5)}, {{2}, {0}, {1}}, starts);
  EXPECT_EQ(layout.range({2}), (FlatRange{ElementCount(0), ElementCount(5)}));
  EXPECT_EQ(layout.range({0}), (FlatRange{ElementCount(128), ElementCount(131)}));
  EXPECT_EQ(layout.range({1}), (FlatRange{ElementCount(2048), ElementCount(2248)}));
  EXPECT_EQ(layout.total(), ElementCount(4096));
  EXPECT_EQ(layout.parameters(), ElementCount(208));
  EXPECT_EQ(layout.bucket_of({0}), 0u);
  EXPECT_EQ(layout.bucket_of({1}), 1u);
  EXPECT_EQ(layout.buckets().size(), 2u);
}

TEST(ParameterLayout, RefusesOrdersThatAreNone) {
  const std::vector<std::size_t> one{0};
  const std::vector<std::size_t> past{0, 5};
  EXPECT_THROW(ParameterLayout({spec("a", 1), spec("b", 1)}, {{0}}, one), Error);
  EXPECT_THROW(ParameterLayout({spec("a", 1), spec("b", 1)}, {{0}, {0}}, one), Error);
  EXPECT_THROW(ParameterLayout({spec("a", 1), spec("a", 1)}, {{0}, {1}}, one), Error);
  EXPECT_THROW(ParameterLayout({spec("a", 1), spec("b", 1)}, {{0}, {1}}, past), Error);
  EXPECT_THROW(ParameterLayout({spec("a", 1)}, {{0}}, {}), Error);
}

// For random sizes and buckets: ranges are disjoint, aligned and in ready order; buckets cover everything.
TEST(ParameterLayout, HoldsItsPromisesForRandomSizes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomNumbers random(seed);
    std::vector<ParameterSpec> specs;
    std::vector<ParamId> order;
    std::vector<std::size_t> starts;
    const auto count = 1 + random.below(20);
    for (int i = 0; i < count; ++i) {
      specs.push_back(spec(fmt::format("p{}", i), 1 + random.below(5000)));
      order.insert(order.begin() + random.below(i + 1), ParamId{i});
      if (i == 0 || random.below(3) == 0) starts.push_back(static_cast<std::size_t>(i));
    }
    const ParameterLayout layout(specs, order, starts);
    ElementCount end;
    for (const auto id : order) {
      const auto range = layout.range(id);
      ASSERT_GE(range.begin, end);
      ASSERT_EQ(range.begin.value() % 128, 0);
      ASSERT_EQ(range.elements(), layout.spec(id).stored.elements());
      const auto& bucket = layout.buckets()[layout.bucket_of(id)];
      ASSERT_TRUE(bucket.begin <= range.begin && range.end <= bucket.end);
      end = range.end;
    }
    ElementCount covered;
    for (const auto& bucket : layout.buckets()) {
      ASSERT_EQ(bucket.begin, covered);
      ASSERT_EQ(bucket.begin.value() % 2048, 0);
      covered = bucket.end;
    }
    ASSERT_EQ(covered, layout.total());
  }
}

TEST(StoredIndex, MapsKcrsToPaddedKrsc) {
  const ParameterSpec filter{
      .name = "w", .canonical = {2, 3, 2, 2}, .stored = {2, 2, 2, 4}, .packing = Packing::Krsc};
  std::set<std::int64_t> seen;
  for (std::int64_t k = 0, i = 0; k < 2; ++k) {
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t r = 0; r < 2; ++r) {
        for (std::int64_t s = 0; s < 2; ++s, ++i) {
          EXPECT_EQ(stored_index(filter, i), ((k * 2 + r) * 2 + s) * 4 + c);
          seen.insert(stored_index(filter, i));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 24u);
}

TEST(StoredIndex, MapsAFilterToBlocks) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>(7, 7), {3, 3}, {5, 2}}) {
    const BlockedFilter blocked{.K = 3, .C = 3, .R = rows, .S = columns, .stored_channels = 16};
    const ParameterSpec filter{.name = "w",
                               .canonical = {3, 3, rows, columns},
                               .stored = blocked.stored(),
                               .packing = Packing::SpaceToDepth};
    std::set<std::int64_t> weights;
    for (std::int64_t i = 0; i < filter.canonical.elements().value(); ++i) {
      weights.insert(stored_index(filter, i));
    }
    EXPECT_EQ(static_cast<std::int64_t>(weights.size()), filter.canonical.elements().value());
    for (std::int64_t i = 0; i < filter.stored.elements().value(); ++i) {
      EXPECT_EQ(blocked.is_weight(i), weights.contains(i)) << i;
    }
  }
  // Row 3, column 2 of channel 1: block [1, 1], the left pixel of its lower row.
  EXPECT_EQ((BlockedFilter{1, 3, 7, 7, 16}.index_of(0, 1, 3, 2)), (1 * 4 + 1) * 16 + 2 * 3 + 1);
}

TEST(StoredIndex, LeavesPaddedRowsAndColumnsAtTheEnd) {
  const ParameterSpec table{.name = "t", .canonical = {3, 2}, .stored = {4, 2}};
  EXPECT_EQ(stored_index(table, 5), 5);
  const ParameterSpec wide{.name = "t", .canonical = {3, 2}, .stored = {3, 4}};
  EXPECT_EQ(stored_index(wide, 2), 4);
}

}  // namespace
}  // namespace tandem
