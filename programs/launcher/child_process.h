// One child process: started without a shell, told the signals that its parent gets, waited for.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem {

struct ChildOptions {
  std::vector<std::string> command;      // the first word is looked up on the PATH if it has no '/'
  std::vector<std::string> environment;  // "NAME=value", in addition to this process's
  // If set, what the child prints goes to this file, which is written anew, as plain lines; its standard
  // error also to this process's, without what mpirun only repeats (mpirun_messages.h), and its standard
  // output too if show_output is set. Otherwise the child inherits both.
  std::optional<std::filesystem::path> log;
  bool show_output = false;
  // Seconds that the child has to end after the first signal passed on to it, or after a line of its standard
  // error that begins with `last_words` (with a log only); then it and all processes below it are killed. 0:
  // it may take its time.
  double grace_s = 0.0;
  std::string last_words;
};

struct ChildResult {
  int exit_status = 0;             // 128 + signal if one ended the child, as shells say it
  std::optional<int> interrupted;  // the last signal that was passed on to the child
  bool abandoned = false;          // had said its last words, did not end, and was killed
};

// Blocks until the child ends. SIGINT, SIGTERM and SIGHUP that reach this process meanwhile are passed on to
// the child, each exactly once: it runs in a process group of its own, so that Ctrl-C on a terminal, which
// reaches every process of the launcher's group, does not count twice (two of them make mpirun give up
// cleaning up). What this process ignores, as under nohup, it does not pass on. The child's standard input is
// empty.
//
// Call it from the process's only thread. Throws InputError if the command or the log cannot be opened.
ChildResult run_child(const ChildOptions& options);

// What the command writes to its standard output; its exit status is not looked at. Throws as run_child.
std::string output_of(const std::vector<std::string>& command);

struct TimedOutput {
  std::string text;                // standard output
  std::string errors;              // standard error
  std::optional<int> exit_status;  // none: its time was over, and it was ended
};

// Runs a command that may hang: when `limit` has passed it gets SIGTERM, two seconds later it and its process
// group get SIGKILL, and what it has written by then is returned. A signal to this process ends the child in
// the same way and then this process. Throws as run_child.
TimedOutput output_within(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                          std::span<const std::string> environment = {});

}  // namespace tandem
