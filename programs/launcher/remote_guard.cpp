#include "launcher/remote_guard.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "environment/environment.h"
#include "environment/shell_quoting.h"
#include "launcher/process_tree.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEndedByGuard = 75;  // as a rank that waited too long
constexpr int kSignalBase = 128;   // as shells say it
constexpr timespec kInterval{.tv_sec = 1, .tv_nsec = 0};

[[noreturn]] void replace_by(std::vector<std::string> command) {
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  throw InputError({.what = "A program could not be started.",
                    .where = command.front(),
                    .expected = "a program on the PATH that may be run",
                    .found = std::strerror(errno),
                    .advice = "name one that starts commands on other hosts with --agent"});
}

bool has_ranks() {
  const auto below = descendants_of(getpid());
  return std::ranges::any_of(below, is_rank);
}

}  // namespace

std::vector<std::string> guarded_command(const std::vector<std::string>& arguments, std::size_t agent_words,
                                         const std::string& launcher) {
  if (arguments.size() < agent_words + 2)
    throw InputError({.what = "launcher agent is for mpirun, which adds a host and a command.",
                      .where = "the command line",
                      .expected = "the agent's words, a host and a command",
                      .found = shell_quoted(arguments),
                      .advice = "start jobs with launcher run"});
  const auto end_of_host = static_cast<std::ptrdiff_t>(agent_words) + 1;
  std::vector<std::string> command(arguments.begin(), arguments.begin() + end_of_host);
  // A shell there takes the words apart again, as with ssh itself.
  const auto remote = fmt::format("{}", fmt::join(arguments.begin() + end_of_host, arguments.end(), " "));
  command.push_back(shell_quoted(std::vector<std::string>{launcher, "guard", remote}));
  return command;
}

void run_agent(const std::vector<std::string>& arguments) {
  std::size_t words = 0;
  if (!arguments.empty()) words = static_cast<std::size_t>(std::atoi(arguments.front().c_str()));
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  replace_by(guarded_command(rest, std::max<std::size_t>(words, 1), executable_path().string()));
}

int run_guard(const std::string& command) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // a daemon that detaches itself stays below the guard
  sigset_t of_children;
  sigset_t mask_before;
  sigemptyset(&of_children);
  sigaddset(&of_children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &of_children, &mask_before);
  const pid_t shell = fork();
  TANDEM_EXPECT(shell >= 0, "fork: {}", std::strerror(errno));
  if (shell == 0) {
    sigprocmask(SIG_SETMASK, &mask_before, nullptr);
    replace_by({"/bin/sh", "-c", command});
  }
  bool had_ranks = false;
  auto last_seen = Clock::now();
  std::optional<int> status;
  for (;;) {
    int ended = 0;
    pid_t child = 0;
    while ((child = waitpid(-1, &ended, WNOHANG)) > 0)
      if (child == shell) status = WIFEXITED(ended) ? WEXITSTATUS(ended) : kSignalBase + WTERMSIG(ended);
    if (child < 0 && errno == ECHILD) return status.value_or(0);
    if (has_ranks()) {
      had_ranks = true;
      last_seen = Clock::now();
    }
    const std::chrono::duration<double> without = Clock::now() - last_seen;
    if (had_ranks && without.count() > kDaemonGrace_s) {
      for (const pid_t process : descendants_of(getpid())) kill_tree(process);
      return kEndedByGuard;
    }
    sigtimedwait(&of_children, nullptr, &kInterval);  // a child that ends wakes it at once
  }
}

}  // namespace tandem
