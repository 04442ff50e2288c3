#include "launcher/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"
#include "launcher/fake_launch.h"
#include "launcher/forked.h"
#include "report/atomic_file.h"
#include "report/comparison.h"
#include "report/tables.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

CompareOptions options_in(const TemporaryFolder& folder) {
  CompareOptions options;
  options.launch = fake_launch(folder.path());
  options.configs = {options.launch.config};
  options.links = {"shm", "tcp"};
  options.repeats = 1;
  options.out = folder.path() / "out";
  return options;
}

struct Printed {
  std::string output;
  std::string error;
};

Printed compare(const CompareOptions& options) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    compare_command(options);
  } catch (...) {
    testing::internal::GetCapturedStdout();
    testing::internal::GetCapturedStderr();
    throw;
  }
  const auto output = testing::internal::GetCapturedStdout();
  return {.output = output, .error = testing::internal::GetCapturedStderr()};
}

RunFailed failure_of(const CompareOptions& options) {
  try {
    compare(options);
  } catch (const RunFailed& failed) {
    return failed;
  }
  ADD_FAILURE() << "the comparison succeeded";
  return {"", 0};
}

std::vector<std::string> settings_of(const fs::path& folder) {
  return read_run_record(folder / "record.json").notes;
}

TEST(Compare, RunsAllLinksAndLeavesTablesAndRecords) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.links = {"shm", "tcp", "paced", "tcp@0.5gbit+9us-no-overlap"};
  options.repeats = 2;
  options.overrides = {"data.limit=640"};
  const auto printed = compare(options);

  const auto result = read_comparison(options.out / "compare.json");
  ASSERT_EQ(result.rows.size(), 4u);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const auto& row = result.rows[i];
    EXPECT_EQ(row.label, options.links[i]);
    EXPECT_EQ(row.repeats, 2);
    for (const auto* repeat : {"repeat-1", "repeat-2"}) {
      const auto run = options.out / row.label / repeat;
      EXPECT_TRUE(fs::exists(run / "record.json")) << run;
      EXPECT_THAT(read_file(run / "log.txt"),
                  AllOf(HasSubstr("to standard output"), HasSubstr("step 2\n"), Not(HasSubstr("step 1"))));
      EXPECT_THAT(settings_of(run), AllOf(Contains("train.eval_every=0"), Contains("data.limit=640")));
    }
  }
  EXPECT_EQ(result.rows[0].speedup.median, 2.0);
  EXPECT_THAT(result.rows[2].caveats, Contains("paced to 1 Gbit/s + 50 us"));
  EXPECT_THAT(result.rows[2].caveats, Not(Contains("schedule after")));
  EXPECT_THAT(result.rows[3].caveats,
              AllOf(Contains("paced to 0.5 Gbit/s + 9 us"), Contains("schedule after")));
  EXPECT_FALSE(result.accuracy);
  const auto last = options.out / options.links[3] / "repeat-2" / "record.json";
  EXPECT_EQ(read_run_record(last).name, "small-tcp-0.5gbit-9us-no-overlap-repeat-2");

  EXPECT_EQ(printed.output, compare_markdown(result));
  EXPECT_EQ(read_file(options.out / "compare.md"), compare_markdown(result));
  EXPECT_EQ(read_file(options.out / "compare.csv"), compare_csv_table(result).csv());
  EXPECT_THAT(printed.error, HasSubstr(options.out.string() + "/compare.html"));
  EXPECT_EQ(read_file(options.out / "compare.html").rfind("<!DOCTYPE html>", 0), 0u);
}

TEST(Compare, SaysWhatRunsNowInInterleavedOrder) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.repeats = 2;
  options.accuracy_run = true;
  const auto error = compare(options).error;
  std::size_t at = 0;
  for (const std::string line : {"run 1 of 5: shm, repeat 1\n", "run 2 of 5: tcp, repeat 1; about ",
                                 "run 3 of 5: tcp, repeat 2; about ", "run 4 of 5: shm, repeat 2; about ",
                                 "left, then the accuracy run\n", "run 5 of 5: accuracy run, shm\n"}) {
    at = error.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << " is not where it should be in\n" << error;
  }
}

TEST(Compare, TheAccuracyRunUsesTheWholeDataOnTheFirstLink) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"data.limit=640", "train.max_steps=5", "train.eval_every=0", "optim.lr=0.2"};
  options.accuracy_run = true;
  options.accuracy_overrides = {"optim.lr=0.3"};
  compare(options);

  const auto settings = settings_of(options.out / "accuracy");
  EXPECT_THAT(settings,
              AllOf(Contains("comm.link=shm"), Contains("data.limit=0"), Contains("train.max_steps=0"),
                    Contains("train.eval_every=1"), Contains("optim.lr=0.3")));
  EXPECT_THAT(settings_of(options.out / "tcp" / "repeat-1"),
              AllOf(Contains("data.limit=640"), Contains("train.max_steps=5"), Contains("optim.lr=0.2")));
  const auto result = read_comparison(options.out / "compare.json");
  ASSERT_TRUE(result.accuracy);
  EXPECT_EQ(result.accuracy->run, "small-accuracy");
  EXPECT_EQ(result.accuracy->correct, 871);
}

TEST(Compare, SyntheticDataKeepsItsLimitInTheAccuracyRun) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"data.kind=synthetic_images", "data.limit=640"};
  options.accuracy_run = true;
  compare(options);
  EXPECT_THAT(settings_of(options.out / "accuracy"), Contains("data.limit=640"));
}

TEST(Compare, AFailingRunIsNamedAndEarlierRecordsStay) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"seed=101"};
  const auto failed = failure_of(options);
  EXPECT_EQ(failed.exit_status(), 1) << "3 is the fake trainer's own code";
  const auto log = options.out / "tcp" / "repeat-1" / "log.txt";
  EXPECT_THAT(failed.what(),
              AllOf(HasSubstr("\"tcp, repeat 1\" failed with exit status 3"), HasSubstr(log.string())));
  EXPECT_TRUE(fs::exists(log));
  EXPECT_TRUE(fs::exists(options.out / "shm" / "repeat-1" / "record.json"));
  EXPECT_FALSE(fs::exists(options.out / "compare.json"));
}

TEST(Compare, AFailingAccuracyRunLeavesTheComparison) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"seed=105"};
  options.accuracy_run = true;
  const auto failed = failure_of(options);
  EXPECT_EQ(failed.exit_status(), 1);
  EXPECT_THAT(failed.what(), HasSubstr("\"accuracy run, shm\""));
  EXPECT_EQ(read_comparison(options.out / "compare.json").rows.size(), 2u);
}

TEST(Compare, AMissingRecordIsAFailureEvenWhereAnEarlierRunLeftOne) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  compare(options);
  options.overrides = {"seed=102"};
  options.fresh = true;
  const auto failed = failure_of(options);
  EXPECT_EQ(failed.exit_status(), 1);
  EXPECT_THAT(failed.what(),
              HasSubstr("left no " + (options.out / "shm" / "repeat-1" / "record.json").string()));
}

TEST(Compare, GoesOnWhereAnInterruptedOneStopped) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  compare(options);
  const auto first = read_file(options.out / "shm" / "repeat-1" / "launch.json");
  fs::remove(options.out / "tcp" / "repeat-1" / "record.json");
  const auto error = compare(options).error;
  EXPECT_THAT(error, AllOf(HasSubstr("run 2 of 2: tcp"), Not(HasSubstr("run 1 of 2"))));
  EXPECT_EQ(read_file(options.out / "shm" / "repeat-1" / "launch.json"), first) << "was run again";
  options.repeats = 2;  // more of the same
  EXPECT_THAT(compare(options).error, AllOf(HasSubstr("run 3 of 4"), Not(HasSubstr("run 2 of 4"))));
}

TEST(Compare, RunsOfSomethingElseAreRefusedAndTheirTablesStay) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  compare(options);
  const auto tables = read_file(options.out / "compare.json");
  options.overrides = {"optim.lr=0.25"};
  try {
    compare(options);
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().found, "optim.lr: 0.1 there, 0.25 now");
  }
  EXPECT_EQ(read_file(options.out / "compare.json"), tables);
  options.fresh = true;
  compare(options);
  EXPECT_THAT(settings_of(options.out / "shm" / "repeat-1"), Contains("optim.lr=0.25"));
}

TEST(Compare, ARecordOfUnknownOriginIsRefused) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  compare(options);
  fs::remove(options.out / "tcp" / "repeat-1" / "launch.json");
  EXPECT_THROW(compare(options), InputError);
}

TEST(Compare, SeveralConfigsHaveATableEach) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  write_file_atomically(folder.path() / "other.yaml", "train:\n  epochs: 2\n");
  options.configs.push_back((folder.path() / "other.yaml").string());
  options.repeats = 3;
  const auto printed = compare(options);
  EXPECT_THAT(printed.output, AllOf(HasSubstr("## small\n"), HasSubstr("## other\n")));
  const auto result = read_comparison(options.out / "other" / "compare.json");
  ASSERT_EQ(result.rows.size(), 2u);
  ASSERT_TRUE(result.rows[0].paired_speedup);
  EXPECT_EQ(result.rows[0].paired_speedup->pairs, 3);
  EXPECT_DOUBLE_EQ(result.rows[0].paired_speedup->ratio, 2.0);
  EXPECT_EQ(result.rows[1].paired_speedup, std::nullopt) << "the slowest itself";
  options.configs.push_back(options.configs.front());
  EXPECT_THROW(compare(options), InputError) << "the same config twice";
}

TEST(Compare, ABrokenRecordIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"seed=103"};
  try {
    compare(options);
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr((options.out / "shm" / "repeat-1" / "record.json").string()));
  }
}

TEST(Compare, MistakesInAnyRunsConfigAreToldBeforeTheFirst) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.links = {"shm", "nope"};
  EXPECT_THROW(compare(options), InputError);
  options = options_in(folder);
  options.overrides = {"no.such_key=1"};
  EXPECT_THROW(compare(options), InputError);
  options = options_in(folder);
  options.accuracy_run = true;
  options.accuracy_overrides = {"train.epochs=0"};
  EXPECT_THROW(compare(options), InputError);
  EXPECT_FALSE(fs::exists(options.out));
}

TEST(Compare, ASignalStopsTheWholeComparison) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"seed=104"};
  Forked launcher([&] {
    try {
      compare_command(options);
    } catch (const RunFailed& failed) {
      return failed.exit_status();
    }
    return 0;
  });
  ASSERT_TRUE(appears(options.out / "shm" / "repeat-1" / "waiting"));
  launcher.send(SIGINT);
  EXPECT_EQ(launcher.wait(), 128 + SIGINT);
  EXPECT_FALSE(fs::exists(options.out / "tcp"));
}

}  // namespace
}  // namespace tandem
