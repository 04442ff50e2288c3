#include "launcher/remote_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "launcher/child_process.h"
#include "launcher/process_tree.h"
#include "report/atomic_file.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A process that is dead but not yet collected by its parent does not run; one that has been killed may need
// a moment to die.
bool runs_now(const std::filesystem::path& pid_file) {
  std::string pid = read_file(pid_file);
  pid.resize(pid.find('\n'));
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  return !text.empty() && text[text.rfind(')') + 2] != 'Z';
}

bool runs(const std::filesystem::path& pid_file) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && runs_now(pid_file); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return runs_now(pid_file);
}

int guarded(const std::string& command) {
  return run_child({.command = {LAUNCHER, "guard", command}}).exit_status;
}

TEST(RemoteGuard, PutsItselfBehindTheAgent) {
  EXPECT_THAT(guarded_command({"ssh", "-x", "node1", "orted", "-x \"a b\""}, 2, "/p/launcher"),
              ElementsAre("ssh", "-x", "node1", "/p/launcher guard 'orted -x \"a b\"'"));
  EXPECT_THROW(guarded_command({"ssh", "node1"}, 1, "/p/launcher"), InputError);
}

TEST(RemoteGuard, EndsWithItsCommand) {
  EXPECT_EQ(guarded("exit 0"), 0);
  EXPECT_EQ(guarded("exit 3"), 3);
  EXPECT_EQ(guarded("kill -9 $$"), 128 + SIGKILL);
}

TEST(RemoteGuard, EndsADaemonWhoseRanksAreGoneAndLeavesNothing) {
  const TemporaryFolder folder;
  const auto pid = (folder.path() / "pid").string();
  EXPECT_EQ(guarded("OMPI_COMM_WORLD_RANK=0 sleep 3 & echo $$ > " + pid + "; while :; do sleep 0.2; done"),
            75);
  EXPECT_THAT(descendants_of(getpid()), IsEmpty());
  EXPECT_FALSE(runs(pid)) << "the daemon still runs";
}

TEST(RemoteGuard, LeavesADaemonWithoutRanksItsTime) {
  EXPECT_EQ(guarded("sleep 7; exit 4"), 4) << "ranks that have not come yet are not gone";
}

TEST(LastWords, AreFollowedByTheEndOfAllProcesses) {
  const TemporaryFolder folder;
  const auto pid = (folder.path() / "pid").string();
  testing::internal::CaptureStderr();
  const auto ended =
      run_child({.command = {"sh", "-c",
                             "setsid sh -c 'echo $$ > " + pid +
                                 "; sleep 600' & sleep 0.5; echo 'tandem: rank 0' >&2; sleep 600"},
                 .log = folder.path() / "log.txt",
                 .grace_s = 0.2,
                 .last_words = "tandem: rank "});
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(ended.abandoned);
  EXPECT_FALSE(runs(pid)) << "a process in a session of its own still runs";
}

}  // namespace
}  // namespace tandem
