#include "comm/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "core/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

RankIdentity rank_1_of_2() {
  return {.rank = Rank{1}, .world_size = 2, .host = "node7"};
}

void wait_for_the_end() {
  std::this_thread::sleep_for(std::chrono::seconds(30));
}

TEST(OverdueReport, ComesAfterTheTimeoutOnly) {
  FlightRecorder::Clock::time_point now;
  FlightRecorder recorder(rank_1_of_2(), [&] { return now; });
  recorder.enqueue(CollectiveKind::AllReduce, "bucket 3", ByteCount(4000));
  now += milliseconds(5000);
  EXPECT_FALSE(overdue_report(recorder, milliseconds(1000), now)) << "not started: no peer is at fault";
  recorder.start(1);
  EXPECT_FALSE(overdue_report(recorder, milliseconds(1000), now + milliseconds(1000)));
  const auto report = overdue_report(recorder, milliseconds(1000), now + milliseconds(1001));
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(*report,
              AllOf(HasSubstr("rank 1 of 2 on node7"), HasSubstr("within 1 s"),
                    HasSubstr("#1 all_reduce \"bucket 3\", 4000 bytes"), HasSubstr("comm.timeout_s")));
  recorder.finish(1);
  EXPECT_FALSE(overdue_report(recorder, milliseconds(1000), now + milliseconds(9000)));
}

TEST(Watchdog, RefusesATimeoutOfZero) {
  const FlightRecorder recorder(rank_1_of_2());
  EXPECT_THROW(Watchdog(recorder, {.timeout = milliseconds(0)}), Error);
}

TEST(Watchdog, LeavesAProcessAloneWhoseCollectivesFinish) {
  FlightRecorder recorder(rank_1_of_2());
  const Watchdog watchdog(recorder, {.timeout = std::chrono::seconds(60)});
  recorder.enqueue(CollectiveKind::AllReduce, "", ByteCount(4));
  recorder.start(1);
  recorder.finish(1);
}

class WatchdogDeathTest : public ::testing::Test {
 protected:
  WatchdogDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, EndsTheProcessNamingWhatIsBehind) {
  const auto hang = [] {
    FlightRecorder recorder(rank_1_of_2());
    const Watchdog watchdog(recorder, {.timeout = milliseconds(20)});
    recorder.enqueue(CollectiveKind::AllReduce, "bucket 3", ByteCount(4000));
    recorder.start(1);
    wait_for_the_end();
  };
  EXPECT_EXIT(hang(), ExitedWithCode(kTimeoutExitCode),
              "rank 1 of 2 on node7.*\n.*#1 all_reduce \"bucket 3\"");
}

TEST_F(WatchdogDeathTest, WatchesHostExchangesToo) {
  const auto hang = [] {
    FlightRecorder recorder(rank_1_of_2());
    const Watchdog watchdog(recorder, {.timeout = milliseconds(20)});
    recorder.enqueue(CollectiveKind::HostExchange, "barrier", ByteCount(0));
    recorder.start(1);
    wait_for_the_end();
  };
  EXPECT_EXIT(hang(), ExitedWithCode(kTimeoutExitCode), "#1 host exchange \"barrier\"");
}

// Stands for work on a GPU that never ends, and whose abort never ends either if it is told so.
class StuckWork final : public Watched {
 public:
  explicit StuckWork(bool abort_hangs) : abort_hangs_(abort_hangs) {}
  std::optional<std::string> look(milliseconds) override { return "a collective on the GPU is stuck"; }
  std::string describe_pending() const override { return "  waiting in:  #7\n"; }
  void abort() noexcept override {
    if (abort_hangs_) wait_for_the_end();
    [[maybe_unused]] const auto written = write(STDERR_FILENO, "aborted\n", 8);
  }

 private:
  const bool abort_hangs_;
};

TEST_F(WatchdogDeathTest, EndsTheProcessWhenWhatItWatchesIsStuck) {
  const auto hang = [] {
    const FlightRecorder recorder(rank_1_of_2());
    Watchdog watchdog(recorder, {.timeout = milliseconds(20)});
    StuckWork work(false);
    watchdog.watch(work);
    wait_for_the_end();
  };
  EXPECT_EXIT(hang(), ExitedWithCode(kTimeoutExitCode),
              "rank 1 of 2 on node7: a collective on the GPU is stuck\n.*#7\n(.*\n)*aborted");
}

TEST_F(WatchdogDeathTest, AnAbortThatHangsIsAbandoned) {
  const auto hang = [] {
    const FlightRecorder recorder(rank_1_of_2());
    Watchdog watchdog(recorder, {.timeout = milliseconds(20)});
    StuckWork work(true);
    watchdog.watch(work);
    wait_for_the_end();
  };
  EXPECT_EXIT(hang(), ExitedWithCode(kTimeoutExitCode), "a collective on the GPU is stuck");
}

TEST_F(WatchdogDeathTest, ATerminationSignalTellsOfWhatIsWatched) {
  const auto end_from_outside = [] {
    class Idle final : public Watched {
     public:
      std::optional<std::string> look(milliseconds) override { return std::nullopt; }
      std::string describe_pending() const override { return "  waiting in:  #9\n"; }
      void abort() noexcept override {}
    };
    const TerminationSignal termination;
    const FlightRecorder recorder(rank_1_of_2());
    Watchdog watchdog(recorder, {.termination = &termination});
    Idle work;
    watchdog.watch(work);
    kill(getpid(), SIGTERM);
    wait_for_the_end();
  };
  EXPECT_EXIT(end_from_outside(), ExitedWithCode(128 + SIGTERM), "ended from outside.*\n.*#9");
}

TEST(Watchdog, ForgetsWhatIsNoLongerWatched) {
  const FlightRecorder recorder(rank_1_of_2());
  Watchdog watchdog(recorder, {.timeout = std::chrono::seconds(60)});
  {
    StuckWork work(false);
    watchdog.watch(work);
    watchdog.unwatch();
  }
  StuckWork next(false);
  EXPECT_NO_THROW(watchdog.watch(next));
  EXPECT_THROW(watchdog.watch(next), Error);
  watchdog.unwatch();
}

TEST_F(WatchdogDeathTest, ReportsAtATerminationSignal) {
  const auto end_from_outside = [] {
    const TerminationSignal termination;
    FlightRecorder recorder(rank_1_of_2());
    const Watchdog watchdog(recorder, {.termination = &termination});
    recorder.enqueue(CollectiveKind::AllReduce, "bucket 3", ByteCount(4000));
    recorder.start(1);
    kill(getpid(), SIGTERM);
    wait_for_the_end();
  };
  EXPECT_EXIT(end_from_outside(), ExitedWithCode(128 + SIGTERM),
              "ended from outside.*\n.*#1 all_reduce \"bucket 3\"");
}

TEST_F(WatchdogDeathTest, TheSignalWorksAsEverOnceItsReaderIsGone) {
  const auto end_later = [] {
    { const TerminationSignal termination; }
    raise(SIGTERM);
    wait_for_the_end();
  };
  EXPECT_EXIT(end_later(), ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace tandem
