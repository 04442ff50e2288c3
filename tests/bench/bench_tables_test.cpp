#include "bench/bench_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/bench_runs.h"

namespace tandem {
namespace {

using testing::HasSubstr;

BenchResult two_links() {
  return {.host = "h",
          .device = "d",
          .ranks = 2,
          .links = {merge_repeats("nvlink", {}, {run_on_a_line(2, 10, 200)}),
                    merge_repeats("pcie", {}, {run_on_a_line(2, 19, 25)})}};
}

TEST(BenchTables, RatiosSayHowMuchBetterTheFirstLinkIs) {
  const auto text = ratio_table(two_links());
  EXPECT_THAT(text, HasSubstr("nvlink : pcie"));
  EXPECT_THAT(text, HasSubstr("| latency of a single all-reduce, us |    11.0 |   20.0 | 1.82x |"));
  EXPECT_THAT(text, HasSubstr("| 1.90x |"));  // 1e6 / 10 over 1e6 / 19
  auto one = two_links();
  one.links.pop_back();
  EXPECT_EQ(ratio_table(one), "");
}

TEST(BenchTables, ColumnsAreThoseOfNcclTests) {
  const auto text = bench_markdown(two_links());
  EXPECT_THAT(text, HasSubstr("| collective     |   size B |   count | type  | redop |"));
  EXPECT_THAT(text, HasSubstr("algbw GB/s | busbw GB/s | #wrong |"));
  EXPECT_THAT(text, HasSubstr("| all_gather     |     4096 |    1024 | float | none  |"));
}

TEST(BenchTables, CsvHasOneRowPerPoint) {
  const auto csv = bench_csv(two_links());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 12);
  EXPECT_THAT(csv, HasSubstr("nvlink,tcp,all_reduce,8,"));
}

TEST(BenchTables, CopiesBetweenGpus) {
  auto result = two_links();
  result.gpu_pairs = {{.from = 0, .to = 1, .access = true, .gb_per_s = 377.2, .both_gb_per_s = 750}};
  EXPECT_THAT(bench_markdown(result), HasSubstr("| GPU0 | GPU1 | yes         | right |"));
}

}  // namespace
}  // namespace tandem
