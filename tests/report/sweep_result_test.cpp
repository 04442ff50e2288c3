#include "report/sweep_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "example_record.h"
#include "report/launch_record.h"
#include "temporary_folder.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

// A run whose measured steps all take `step_ms`: 16 items per step.
RunRecord run_of(double step_ms) {
  auto run = example_record();
  for (auto& rank : run.timing)
    for (auto& step : rank.step_ms) step = step_ms;
  return run;
}

SweptPoint point(const std::string& value, const std::vector<double>& step_ms) {
  SweptPoint swept{.values = {value}};
  for (const double ms : step_ms) swept.rounds.push_back(run_of(ms));
  return swept;
}

TEST(SweepResult, ThroughputIsItemsPerStepOverTheMeanStep) {
  EXPECT_DOUBLE_EQ(*training_items_per_s(run_of(32.0)), 500.0);
  auto untimed = run_of(32.0);
  untimed.timing.clear();
  EXPECT_DOUBLE_EQ(*training_items_per_s(untimed), 32 / 0.1);
}

TEST(SweepResult, TheBestIsTheFastestAndWhatIsAsGoodIsSaid) {
  const auto result = build_sweep(
      {"comm.bucket_mb"},
      {point("1", {40.0, 44.0, 42.0}), point("4", {30.0, 33.0, 31.0}), point("8", {30.5, 32.8, 31.2})}, 3);
  ASSERT_EQ(result.best, 1);
  EXPECT_EQ(result.points[1].to_best, std::nullopt);
  EXPECT_LT(result.points[0].to_best->high, 1.0);
  EXPECT_FALSE(result.points[2].to_best->beyond_noise());
  const auto page = sweep_markdown(result);
  EXPECT_THAT(page, HasSubstr("**comm.bucket_mb=4**"));
  EXPECT_THAT(page, HasSubstr("It is **not better beyond the noise** than comm.bucket_mb=8."));
  EXPECT_THAT(page, HasSubstr("| slower"));
}

TEST(SweepResult, OneRepeatSaysNothingOfNoise) {
  const auto page = sweep_markdown(build_sweep({"k"}, {point("1", {40.0}), point("2", {30.0})}, 1));
  EXPECT_THAT(page, HasSubstr("too few repeats to tell"));
  EXPECT_THAT(page, Not(HasSubstr("every other point")));
}

TEST(SweepResult, PointsThatHaveNotRunOrFailedAreShownAsSuch) {
  SweptPoint failed{.values = {"2"}, .rounds = {std::nullopt}, .failure = "exit status 2"};
  SweptPoint waiting{.values = {"3"}, .rounds = {std::nullopt}};
  const auto page = sweep_markdown(build_sweep({"k"}, {point("1", {40.0}), failed, waiting}, 1));
  EXPECT_THAT(page, HasSubstr("failed: exit status 2"));
  EXPECT_THAT(page, HasSubstr("not run"));
  EXPECT_THROW(build_sweep({"k"}, {failed, waiting}, 1), InputError);
}

TEST(SweepResult, ImagesAndTokensAreNotCompared) {
  auto tokens = point("2", {40.0});
  tokens.rounds.front()->batch.item = "tokens";
  EXPECT_THROW(build_sweep({"k"}, {point("1", {40.0}), tokens}, 1), InputError);
}

TEST(SweepResult, TravelsThroughJson) {
  const auto result = build_sweep({"k"}, {point("1", {40.0, 41.0}), point("2", {30.0, 30.5})}, 2);
  EXPECT_EQ(sweep_from_json(to_json(result), "sweep.json"), result);
  auto broken = result;
  broken.best = 7;
  EXPECT_THROW(sweep_from_json(to_json(broken), "sweep.json"), InputError);
  broken = result;
  broken.points[0].values.clear();
  EXPECT_THROW(sweep_from_json(to_json(broken), "sweep.json"), InputError);
}

TEST(LaunchRecord, TravelsThroughAFile) {
  const TemporaryFolder folder;
  const LaunchRecord record{.title = "tcp, repeat 2",
                            .command = "mpirun -np 2 ./trainer",
                            .identity = {{"comm.link", "tcp"}},
                            .started = "2025-03-01T12:34:56Z",
                            .state = LaunchRecord::kFailed,
                            .ended = "2025-03-01T12:35:00Z",
                            .seconds = 4.0,
                            .exit_status = 143,
                            .signal = 15,
                            .last_words = {"step 3"},
                            .clocks_before = {{"processor", 2450.0}},
                            .clocks_after = {}};
  write_launch_record(record, folder.path() / "launch.json");
  EXPECT_EQ(read_launch_record(folder.path() / "launch.json"), record);
  EXPECT_THAT(launch_markdown(record),
              HasSubstr("This run did not finish: exit status 143, after signal 15."));
}

TEST(LaunchRecord, NamesTheFirstDifference) {
  EXPECT_EQ(first_difference({{"a", "1"}}, {{"a", "1"}}), std::nullopt);
  EXPECT_EQ(first_difference({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "3"}}), "b: 2 there, 3 now");
  EXPECT_EQ(first_difference({{"a", "1"}}, {}), "a: 1 there, nothing now");
  EXPECT_EQ(first_difference({}, {{"a", "1"}}), "a: nothing there, 1 now");
}

}  // namespace
}  // namespace tandem
