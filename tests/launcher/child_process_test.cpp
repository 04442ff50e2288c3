#include "launcher/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"
#include "launcher/forked.h"
#include "report/atomic_file.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

ChildOptions shell(const std::string& script) {
  return {.command = {"sh", "-c", script}, .environment = {}, .log = {}};
}

TEST(RunChild, PassesTheExitStatusOn) {
  EXPECT_EQ(run_child(shell("exit 0")).exit_status, 0);
  EXPECT_EQ(run_child(shell("exit 37")).exit_status, 37);
  EXPECT_EQ(run_child(shell("kill -KILL $$")).exit_status, 128 + SIGKILL);
  EXPECT_EQ(run_child(shell("exit 0")).interrupted, std::nullopt);
}

TEST(RunChild, AddsVariablesAndLeavesInputEmpty) {
  auto options = shell("test \"$TANDEM_TEST_X\" = 'a b' && test -n \"$PATH\" && ! read line");
  options.environment = {"TANDEM_TEST_X=a b"};
  EXPECT_EQ(run_child(options).exit_status, 0);
}

TEST(RunChild, WordsReachTheChildUnchanged) {
  const std::string odd = "a b$HOME;'\"*\n";
  EXPECT_EQ(output_of({"printf", "%s", odd}), odd);
}

TEST(RunChild, TheLogHoldsOutputAndErrorAndTheTerminalGetsErrorAsItWas) {
  const TemporaryFolder folder;
  auto options = shell("echo out; printf 'step 1\\rstep 2\\nlast' >&2");
  options.log = folder.path() / "log.txt";
  write_file_atomically(*options.log, "of an earlier run");
  testing::internal::CaptureStderr();
  const auto result = run_child(options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "step 1\rstep 2\nlast");
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(read_file(*options.log), "out\nstep 2\nlast\n");
}

TEST(RunChild, MuchOutputNeitherBlocksNorGetsLost) {
  const TemporaryFolder folder;
  auto options = shell("i=0; while [ $i -lt 20000 ]; do echo \"line $i\" >&2; i=$((i+1)); done");
  options.log = folder.path() / "log.txt";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_child(options).exit_status, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), read_file(*options.log));
  EXPECT_THAT(read_file(*options.log), testing::EndsWith("line 19999\n"));
}

TEST(RunChild, DoesNotWaitForWhatTheChildLeftBehind) {
  const TemporaryFolder folder;
  auto options = shell("sleep 600 & echo $! > " + (folder.path() / "left").string() + "; exit 5");
  options.log = folder.path() / "log.txt";
  EXPECT_EQ(run_child(options).exit_status, 5);
  kill(std::stoi(read_file(folder.path() / "left")), SIGKILL);
}

TEST(RunChild, WhatCannotBeStartedOrLoggedIsAnError) {
  ChildOptions options{.command = {"tandem-no-such-program"}, .environment = {}, .log = {}};
  EXPECT_THROW(run_child(options), InputError);
  EXPECT_THROW(output_of({"tandem-no-such-program"}), InputError);
  options = shell("true");
  options.log = "/no/such/folder/log.txt";
  EXPECT_THROW(run_child(options), InputError);
}

// Each signal, once: the script counts them and ends at a second one with another status.
TEST(RunChild, PassesSignalsOnOnce) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const auto ready = folder.path() / "ready";
    Forked launcher([&] {
      const auto result =
          run_child(shell("n=0; trap 'n=$((n+1))' INT TERM HUP; : > " + ready.string() +
                          "; while [ $n -eq 0 ]; do sleep 0.05; done; sleep 0.3; exit $((40+n))"));
      return result.interrupted == signal ? result.exit_status : 98;
    });
    ASSERT_TRUE(appears(ready));
    launcher.send(signal);
    EXPECT_EQ(launcher.wait(), 41) << "signal " << signal;
  }
}

TEST(RunChild, WhatIsIgnoredIsNotPassedOn) {
  const TemporaryFolder folder;
  const auto ready = folder.path() / "ready";
  const auto go_on = folder.path() / "go_on";
  Forked launcher([&] {
    std::signal(SIGHUP, SIG_IGN);  // as nohup does
    const auto result = run_child(
        shell(": > " + ready.string() + "; while [ ! -e " + go_on.string() + " ]; do sleep 0.05; done"));
    return result.interrupted ? 98 : result.exit_status;
  });
  ASSERT_TRUE(appears(ready));
  launcher.send(SIGHUP);
  write_file_atomically(go_on, "");
  EXPECT_EQ(launcher.wait(), 0);
}

TEST(RunChild, TakesTheStatusEvenWhereChildrenAreIgnored) {
  Forked launcher([] {
    std::signal(SIGCHLD, SIG_IGN);
    return run_child(shell("exit 6")).exit_status;
  });
  EXPECT_EQ(launcher.wait(), 6);
}

std::vector<std::string> shell_words(const std::string& script) {
  return {"sh", "-c", script};
}

constexpr std::chrono::seconds kAmple{60};

TEST(OutputWithin, GivesBothOutputsAndTheStatus) {
  const auto output = output_within(shell_words("echo out; echo err >&2; exit 3"), kAmple);
  EXPECT_EQ(output.text, "out\n");
  EXPECT_EQ(output.errors, "err\n");
  EXPECT_EQ(output.exit_status, 3);
}

TEST(OutputWithin, MuchOutputDoesNotBlockTheChild) {
  const auto output =
      output_within(shell_words("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"), kAmple);
  EXPECT_EQ(output.text.size(), 300000U);
  EXPECT_EQ(output.errors.size(), 300000U);
}

TEST(OutputWithin, AddsVariables) {
  const std::vector<std::string> variables = {"TANDEM_TEST_X=a b"};
  EXPECT_EQ(output_within(shell_words("printf %s \"$TANDEM_TEST_X\""), kAmple, variables).text, "a b");
}

// What the peer test relies on: the last line names the pair that hangs.
TEST(OutputWithin, AChildThatHangsIsEndedAndWhatItSaidIsKept) {
  const auto output =
      output_within(shell_words("echo begun; sleep 300; echo never"), std::chrono::seconds(1));
  EXPECT_EQ(output.text, "begun\n");
  EXPECT_EQ(output.exit_status, std::nullopt);
}

TEST(OutputWithin, AChildThatIgnoresTheFirstSignalIsKilledWithItsChildren) {
  const TemporaryFolder folder;
  const auto pid_file = folder.path() / "pid";
  const auto output = output_within(
      shell_words("trap '' TERM; sleep 300 & echo $! > " + pid_file.string() + "; wait; sleep 300"),
      std::chrono::seconds(1));
  EXPECT_EQ(output.exit_status, std::nullopt);
  const int child = std::stoi(read_file(pid_file));
  // A zombie until its new parent takes its status, which is not ours to wait for: only then ESRCH.
  const auto state = output_of({"sh", "-c", "ps -o stat= -p " + std::to_string(child) + " || true"});
  EXPECT_TRUE(state.empty() || state.front() == 'Z') << state;
}

TEST(OutputWithin, ASignalEndsBoth) {
  const TemporaryFolder folder;
  const auto ready = folder.path() / "ready";
  Forked launcher([&] {
    output_within(shell_words(": > " + ready.string() + "; sleep 300"), kAmple);
    return 0;
  });
  ASSERT_TRUE(appears(ready));
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), 128 + SIGTERM);
}

TEST(OutputWithin, AProgramThatIsNotThere) {
  EXPECT_THROW(output_within({"no-such-program-at-all"}, kAmple), InputError);
}

}  // namespace
}  // namespace tandem
