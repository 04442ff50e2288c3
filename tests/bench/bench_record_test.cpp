#include "bench/bench_record.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "bench/bench_runs.h"
#include "core/error.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

TEST(BenchRecord, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor("reduce_scatter", 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor("all_gather", 4), 0.75);
  EXPECT_THROW(bus_factor("broadcast", 4), Error);
}

TEST(BenchRecord, TheFitFindsTheLine) {
  const auto link = merge_repeats("tcp", {}, {run_on_a_line(4, 25, 3)});
  ASSERT_EQ(link.fits.size(), 3U);
  for (const auto& fit : link.fits) {
    EXPECT_NEAR(fit.latency_us, 25, 1e-6) << fit.collective;
    EXPECT_NEAR(fit.bus_gb_per_s, 3, 1e-9) << fit.collective;
    EXPECT_NEAR(fit.worst_error, 0, 1e-9);
  }
}

TEST(BenchRecord, NoNumberOfTheFitIsBelowZero) {
  const Spread first{.median = 1}, second{.median = 1000}, third{.median = 9000};
  const auto through_zero = fit_lines({{.collective = "all_reduce", .bytes = 1000, .time_us = first},
                                       {.collective = "all_reduce", .bytes = 100000, .time_us = second},
                                       {.collective = "all_reduce", .bytes = 200000, .time_us = third}},
                                      2);
  ASSERT_EQ(through_zero.size(), 1U);
  EXPECT_EQ(through_zero[0].latency_us, 0);
  EXPECT_GT(through_zero[0].bus_gb_per_s, 0);
  const auto constant = fit_lines({{.collective = "all_reduce", .bytes = 8, .time_us = second},
                                   {.collective = "all_reduce", .bytes = 16, .time_us = first}},
                                  2);
  EXPECT_EQ(constant[0].bus_gb_per_s, 0);
  EXPECT_GT(constant[0].latency_us, 0);
  EXPECT_TRUE(fit_lines({{.collective = "all_reduce", .bytes = 8, .time_us = first}}, 2).empty());
}

TEST(BenchRecord, RepeatsBecomeMediansWithTheirRange) {
  const auto link = merge_repeats(
      "tcp", {"comm.link=tcp"}, {run_on_a_line(2, 30, 1), run_on_a_line(2, 10, 1), run_on_a_line(2, 20, 1)});
  EXPECT_EQ(link.repeats, 3);
  EXPECT_EQ(link.latency_us, (Spread{.median = 21, .min = 11, .max = 31}));
  ASSERT_EQ(link.points.size(), 12U);
  EXPECT_EQ(link.points[0].bytes, 8);
  EXPECT_DOUBLE_EQ(link.points[0].time_us.median, 20.008);
  const auto& large = link.points[3];
  EXPECT_EQ(large.bytes, 1 << 25);
  EXPECT_DOUBLE_EQ(large.algorithm_gb_per_s, 33554432 / large.time_us.median / 1e3);
  EXPECT_DOUBLE_EQ(large.bus_gb_per_s, large.algorithm_gb_per_s);
  EXPECT_DOUBLE_EQ(link.aggregate_gb_per_s, 2 * large.bus_gb_per_s);
}

TEST(BenchRecord, WrongElementsAddUpOverRepeats) {
  auto wrong = run_on_a_line(2, 10, 1);
  wrong.points[1].wrong = 3;
  EXPECT_EQ(merge_repeats("tcp", {}, {wrong, run_on_a_line(2, 10, 1), wrong}).points[1].wrong, 6);
}

TEST(BenchRecord, RepeatsOfDifferentPointsAreNotMixed) {
  auto other = run_on_a_line(2, 10, 1);
  other.points[0].bytes = 16;
  EXPECT_THROW(merge_repeats("tcp", {}, {run_on_a_line(2, 10, 1), other}), Error);
  EXPECT_THROW(merge_repeats("tcp", {}, {run_on_a_line(2, 10, 1), run_on_a_line(3, 10, 1)}), Error);
  EXPECT_THROW(merge_repeats("tcp", {}, {}), Error);
}

TEST(BenchRecord, FilesComeBackAsTheyWere) {
  const auto file = std::filesystem::path(testing::TempDir()) / "bench_record_test.json";
  const auto run = run_on_a_line(3, 12.5, 2);
  write_file_atomically(file, to_json(run));
  EXPECT_EQ(read_bench_run(file), run);
  EXPECT_THROW(read_bench_result(file), InputError);  // another schema
  const BenchResult result{.started = "2026-01-01T00:00:00Z",
                           .host = "h",
                           .device = "d",
                           .ranks = 3,
                           .links = {merge_repeats("tcp", {"comm.link=tcp"}, {run})},
                           .gpu_pairs = {{.from = 0, .to = 1, .access = true, .gb_per_s = 300}}};
  write_file_atomically(file, to_json(result));
  EXPECT_EQ(read_bench_result(file), result);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tandem
