#include "launcher/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "launcher/fake_launch.h"
#include "launcher/forked.h"
#include "launcher/sweep_grid.h"
#include "report/atomic_file.h"
#include "report/sweep_result.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(SweepGrid, SplitsValuesOutsideOfBracketsAndQuotes) {
  EXPECT_EQ(parse_axis("a.b=1,2"), (SweepAxis{"a.b", {"1", "2"}}));
  EXPECT_EQ(parse_axis("a=[1, 2],[3],\"x,y\""), (SweepAxis{"a", {"[1, 2]", "[3]", "\"x,y\""}}));
  for (const char* text : {"", "a", "=1", "a=", "a=1,", "a=1,,2", "a=1,1"})
    EXPECT_THROW(parse_axis(text), InputError) << text;
  EXPECT_THROW(parse_axes({}), InputError);
  EXPECT_THROW(parse_axes({"a=1", "a=2"}), InputError);
}

TEST(SweepGrid, HasEveryCombination) {
  EXPECT_THAT(grid_points(parse_axes({"a=1,2", "b=x,y"})),
              ElementsAre(ElementsAre("1", "x"), ElementsAre("1", "y"), ElementsAre("2", "x"),
                          ElementsAre("2", "y")));
  std::string many = "a=0";
  for (int i = 1; i < 200; ++i) many += ',' + std::to_string(i);
  EXPECT_THROW(parse_axes({many, "b" + many.substr(1)}), InputError) << "40,000 points";
  EXPECT_THROW(parse_axes({many, "b=1,2,3,4,5,6"}), InputError) << "1,200 points";
}

class Sweep : public testing::Test {
 protected:
  Sweep() {
    options_.launch = fake_launch(folder_.path());
    options_.axes = {"comm.link=shm,tcp", "comm.schedule=overlapped,after"};
    options_.repeats = 2;
    options_.out = folder_.path() / "out";
  }

  int sweep() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int status = -1;
    try {
      status = sweep_command(options_);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      testing::internal::GetCapturedStderr();
      throw;
    }
    output_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return status;
  }

  SweepResult result() const {
    const auto path = options_.out / "sweep.json";
    return sweep_from_json(read_file(path), path.string());
  }

  TemporaryFolder folder_;
  SweepOptions options_;
  std::string output_;
  std::string error_;
};

TEST_F(Sweep, RunsEveryPointAndNamesTheBest) {
  EXPECT_EQ(sweep(), 0);
  const auto found = result();
  ASSERT_EQ(found.points.size(), 4u);
  EXPECT_THAT(found.points[1].values, ElementsAre("shm", "after"));
  for (const auto& point : found.points) EXPECT_EQ(point.repeats, 2);
  EXPECT_THAT(output_, AllOf(HasSubstr("| best"), HasSubstr("**comm.link=shm comm.schedule=overlapped**")));
  EXPECT_EQ(read_file(options_.out / "sweep.md"), output_);
  EXPECT_THAT(error_, AllOf(HasSubstr("run 1 of 8: comm.link=shm comm.schedule=overlapped, repeat 1"),
                            HasSubstr("run 8 of 8")));
}

TEST_F(Sweep, GoesOnAndTakesMorePointsIn) {
  sweep();
  sweep();
  EXPECT_THAT(error_, Not(HasSubstr(" of 8: "))) << "nothing was left to do";
  options_.axes.back() = "comm.schedule=after,overlapped";
  options_.repeats = 3;
  sweep();
  EXPECT_THAT(error_, AllOf(HasSubstr("run 12 of 12"), Not(HasSubstr("repeat 2")), HasSubstr("repeat 3")));
  options_.overrides = {"optim.lr=0.25"};
  EXPECT_THROW(sweep(), InputError) << "never mixed";
}

TEST_F(Sweep, APointThatFailsIsShownAndTheOthersGoOn) {
  options_.overrides = {"seed=101"};  // the tcp link fails
  EXPECT_EQ(sweep(), 1);
  const auto found = result();
  EXPECT_EQ(found.points[0].repeats, 2);
  EXPECT_EQ(found.points[2].repeats, 0);
  EXPECT_EQ(found.points[2].failure, "exit status 3");
  EXPECT_THAT(output_, HasSubstr("failed: exit status 3"));
}

TEST_F(Sweep, BeginsNoRunBeyondItsBudget) {
  options_.budget_minutes = 1e-6;
  EXPECT_EQ(sweep(), 0);
  EXPECT_EQ(result().points[0].repeats, 1) << "before the first run nothing is known";
  EXPECT_EQ(result().points[1].repeats, 0);
  EXPECT_THAT(output_, HasSubstr("not run"));
  EXPECT_THAT(error_, HasSubstr("The budget is used up"));
}

TEST_F(Sweep, AnInterruptionLeavesWhatIsDone) {
  options_.axes = {"seed=1,104"};  // 104 waits for SIGTERM
  Forked launcher([&] {
    try {
      return sweep_command(options_);
    } catch (const RunFailed& failed) {
      return failed.exit_status();
    }
  });
  ASSERT_TRUE(appears(options_.out / "seed=104" / "repeat-1" / "waiting"));
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), 128 + SIGTERM);
  EXPECT_TRUE(fs::exists(options_.out / "seed=1" / "repeat-1" / "record.json"));
}

TEST_F(Sweep, AMistakeInOnePointIsToldBeforeTheFirstRun) {
  options_.axes = {"train.micro_batch=8,-1"};
  try {
    sweep();
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_THAT(error.problem().where, HasSubstr("train.micro_batch=-1"));
  }
  EXPECT_FALSE(fs::exists(options_.out));
}

}  // namespace
}  // namespace tandem
