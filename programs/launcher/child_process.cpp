#include "launcher/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "environment/environment.h"
#include "launcher/descriptor.h"
#include "launcher/mpirun_messages.h"
#include "launcher/process_tree.h"
#include "launcher/run_log.h"

namespace tandem {
namespace {

// While it lives, the signals to pass on and SIGCHLD arrive at raw() instead of interrupting the process.
class SignalQueue {
 public:
  SignalQueue() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      if (!is_ignored(signal)) sigaddset(&watched, signal);
    // An inherited "ignore" would let the system take the exit status before waitpid() can.
    std::signal(SIGCHLD, SIG_DFL);
    sigaddset(&watched, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &watched, &mask_before_) != 0) fail_call("sigprocmask");
    queue_ = Descriptor(signalfd(-1, &watched, SFD_CLOEXEC));
    if (!queue_.is_open()) fail_call("signalfd");
  }
  ~SignalQueue() { sigprocmask(SIG_SETMASK, &mask_before_, nullptr); }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int raw() const { return queue_.raw(); }
  const sigset_t& mask_before() const { return mask_before_; }

  int next() {  // waits for one
    signalfd_siginfo info{};
    if (read(queue_.raw(), &info, sizeof info) != sizeof info) fail_call("read(signalfd)");
    return static_cast<int>(info.ssi_signo);
  }

 private:
  static bool is_ignored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }

  sigset_t mask_before_{};
  Descriptor queue_;
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// `output` and `error` replace the child's if they are not -1.
pid_t spawn(std::vector<std::string> command, std::vector<std::string> environment, const sigset_t& mask,
            int output, int error) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output >= 0) posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  if (error >= 0) posix_spawn_file_actions_adddup2(&files, error, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &mask);

  pid_t child = 0;
  const auto arguments = pointers_to(command);
  const auto variables = pointers_to(environment);
  const int failed =
      posix_spawnp(&child, command.front().c_str(), &files, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    throw InputError({.what = "A program could not be started.",
                      .where = command.front(),
                      .expected = "a program on the PATH that may be run",
                      .found = std::strerror(failed),
                      .advice = "install what is missing with scripts/setup.sh"});
  return child;
}

int exit_status_of(int wait_status) {
  constexpr int kSignalBase = 128;
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kSignalBase + WTERMSIG(wait_status);
}

Descriptor open_log(const std::filesystem::path& path) {
  constexpr mode_t kEveryoneReads = 0644;
  // Appending keeps the two writers, this process and the child, from overwriting each other.
  Descriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kEveryoneReads));
  if (log.is_open()) return log;
  throw InputError({.what = "A log file cannot be written.",
                    .where = path.string(),
                    .expected = "a folder that may be written to",
                    .found = std::strerror(errno),
                    .advice = "choose another folder with --out"});
}

// Copies what the child writes to one of its outputs until it closes it.
class OutputCopy {
 public:
  using Output = std::function<void(std::string_view)>;

  OutputCopy(Descriptor from, std::vector<Output> to) : from_(std::move(from)), to_(std::move(to)) {}

  int raw() const { return from_.raw(); }  // -1 after the end

  void copy_some() {
    const auto bytes = read_some(from_.raw(), buffer_);
    if (bytes.empty()) from_.close();
    for (const auto& output : to_) output(bytes);
  }

  // What is there now. A process that the child left behind may hold the pipe open, so the end may not come.
  void finish() {
    pollfd waiting{.fd = from_.raw(), .events = POLLIN, .revents = 0};
    while (from_.is_open() && poll(&waiting, 1, 0) > 0) copy_some();
  }

 private:
  Descriptor from_;
  std::vector<Output> to_;
  std::array<char, 4096> buffer_{};
};

// Passes whole lines on: srun cuts what ranks print anywhere, and on a terminal both outputs share the lines.
class WholeLines {
 public:
  explicit WholeLines(int descriptor) : descriptor_(descriptor) {}

  void write(std::string_view bytes) {
    const auto end = bytes.rfind('\n');
    if (end == std::string_view::npos) {
      held_ += bytes;
      return;
    }
    write_all(descriptor_, held_.append(bytes.substr(0, end + 1)));
    held_ = bytes.substr(end + 1);
  }

  void finish() { write_all(descriptor_, held_); }

 private:
  const int descriptor_;
  std::string held_;
};

using Clock = std::chrono::steady_clock;
constexpr Clock::time_point kNever = Clock::time_point::max();
constexpr std::chrono::seconds kAgain{1};  // between two tries to kill

// Milliseconds for poll(); -1: for ever.
int milliseconds_until(Clock::time_point deadline) {
  if (deadline == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

struct Ending {
  double grace_s = 0.0;
  bool said_last_words = false;
};

// Waits for `child`, passing signals on and copying what it prints.
ChildResult wait_for(pid_t child, SignalQueue& signals, std::span<OutputCopy> copies, const Ending& ending) {
  ChildResult result;
  auto deadline = kNever;
  for (;;) {
    const bool shall_end = result.interrupted || ending.said_last_words;
    if (shall_end && ending.grace_s > 0.0 && deadline == kNever)
      deadline =
          Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(ending.grace_s));
    std::vector<pollfd> ready = {pollfd{.fd = signals.raw(), .events = POLLIN, .revents = 0}};
    for (const auto& copy : copies) ready.push_back(pollfd{.fd = copy.raw(), .events = POLLIN, .revents = 0});
    const int events = poll(ready.data(), ready.size(), milliseconds_until(deadline));
    if (events < 0) {
      if (errno == EINTR) continue;
      fail_call("poll");
    }
    if (events == 0) {
      kill_tree(child);
      result.abandoned = !result.interrupted;
      deadline = Clock::now() + kAgain;
      continue;
    }
    for (std::size_t i = 0; i < copies.size(); ++i)
      if (ready[i + 1].revents != 0) copies[i].copy_some();
    if (ready[0].revents == 0) continue;
    if (const int signal = signals.next(); signal != SIGCHLD) {
      result.interrupted = signal;
      kill(child, signal);
      continue;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child && (WIFEXITED(status) || WIFSIGNALED(status))) {
      result.exit_status = exit_status_of(status);
      return result;
    }
  }
}

ChildResult run_with_log(const ChildOptions& options) {
  const Descriptor log = open_log(*options.log);
  const auto to_log = [&log](std::string_view line) { write_all(log.raw(), line); };
  PlainLines output_lines(to_log);
  Ending ending{.grace_s = options.grace_s};
  PlainLines error_lines([&](std::string_view line) {
    to_log(line);
    if (!options.last_words.empty() && line.starts_with(options.last_words)) ending.said_last_words = true;
  });
  MpirunMessages messages([](std::string_view bytes) { write_all(STDERR_FILENO, bytes); });
  WholeLines shown(STDOUT_FILENO);
  Pipe output = make_pipe();
  Pipe error = make_pipe();
  std::array<OutputCopy, 2> copies = {
      OutputCopy(std::move(output.reading), {[&](std::string_view bytes) { output_lines.write(bytes); },
                                             [&](std::string_view bytes) {
                                               if (options.show_output) shown.write(bytes);
                                             }}),
      OutputCopy(std::move(error.reading), {[&](std::string_view bytes) { error_lines.write(bytes); },
                                            [&](std::string_view bytes) { messages.write(bytes); }})};
  SignalQueue signals;
  const pid_t child = spawn(options.command, environment_with(options.environment), signals.mask_before(),
                            output.writing.raw(), error.writing.raw());
  output.writing.close();
  error.writing.close();
  const ChildResult result = wait_for(child, signals, copies, ending);
  for (auto& copy : copies) copy.finish();
  output_lines.finish();
  error_lines.finish();
  messages.finish();
  shown.finish();
  return result;
}

// A child whose two outputs are read until it ends or has had its time.
class TimedChild {
 public:
  TimedChild(const std::vector<std::string>& command, std::span<const std::string> environment) {
    Pipe output = make_pipe();
    Pipe errors = make_pipe();
    child_ = spawn(command, environment_with(environment), signals_.mask_before(), output.writing.raw(),
                   errors.writing.raw());
    output_ = std::move(output.reading);
    errors_ = std::move(errors.reading);
  }

  TimedOutput run(std::chrono::milliseconds limit) {
    follow(Clock::now() + limit);
    const bool in_time = exit_status_.has_value();
    if (!in_time) end();
    drain();
    if (in_time) result_.exit_status = exit_status_;
    return std::move(result_);
  }
  int signal() const { return signal_; }  // that reached this process meanwhile; 0: none

 private:
  // Until the child has ended, a signal has come, or the moment has passed.
  void follow(Clock::time_point end) {
    while (!exit_status_ && signal_ == 0 && Clock::now() < end) look(milliseconds_until(end));
  }

  void look(int wait_ms) {
    std::array<pollfd, 3> ready = {pollfd{.fd = signals_.raw(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = output_.raw(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = errors_.raw(), .events = POLLIN, .revents = 0}};
    if (poll(ready.data(), ready.size(), wait_ms) < 0 && errno != EINTR) fail_call("poll");
    if (ready[1].revents != 0) take(output_, result_.text);
    if (ready[2].revents != 0) take(errors_, result_.errors);
    if (ready[0].revents == 0) return;
    if (const int caught = signals_.next(); caught != SIGCHLD) signal_ = caught;
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) exit_status_ = exit_status_of(status);
  }

  void take(Descriptor& from, std::string& text) {
    const auto bytes = read_some(from.raw(), buffer_);
    if (bytes.empty()) from.close();
    text += bytes;
  }

  void end() {
    constexpr std::chrono::seconds kGrace{2};
    const int caught = std::exchange(signal_, 0);
    kill(child_, SIGTERM);
    follow(Clock::now() + kGrace);
    kill(-child_, SIGKILL);
    // A process that hangs in the driver does not even die: it is left to the system.
    follow(Clock::now() + kGrace);
    signal_ = caught;
  }

  // What is there now: a process that the child left behind may hold the pipes open.
  void drain() {
    for (auto* from : {&output_, &errors_}) {
      pollfd waiting{.fd = from->raw(), .events = POLLIN, .revents = 0};
      while (from->is_open() && poll(&waiting, 1, 0) > 0)
        take(*from, from == &output_ ? result_.text : result_.errors);
    }
  }

  SignalQueue signals_;
  pid_t child_ = 0;
  Descriptor output_;
  Descriptor errors_;
  std::optional<int> exit_status_;
  int signal_ = 0;
  TimedOutput result_;
  std::array<char, 4096> buffer_{};
};

}  // namespace

ChildResult run_child(const ChildOptions& options) {
  TANDEM_EXPECT(!options.command.empty(), "a command has no words");
  if (options.log) return run_with_log(options);
  SignalQueue signals;
  const pid_t child =
      spawn(options.command, environment_with(options.environment), signals.mask_before(), -1, -1);
  return wait_for(child, signals, {}, {.grace_s = options.grace_s});
}

std::string output_of(const std::vector<std::string>& command) {
  TANDEM_EXPECT(!command.empty(), "a command has no words");
  Pipe output = make_pipe();
  sigset_t mask;
  if (sigprocmask(SIG_SETMASK, nullptr, &mask) != 0) fail_call("sigprocmask");
  const pid_t child = spawn(command, environment_with({}), mask, output.writing.raw(), -1);
  output.writing.close();
  std::string text;
  std::array<char, 4096> buffer{};
  for (auto bytes = read_some(output.reading.raw(), buffer); !bytes.empty();
       bytes = read_some(output.reading.raw(), buffer))
    text += bytes;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return text;
}

TimedOutput output_within(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                          std::span<const std::string> environment) {
  TANDEM_EXPECT(!command.empty(), "a command has no words");
  TimedOutput output;
  int caught = 0;
  {
    TimedChild child(command, environment);
    output = child.run(limit);
    caught = child.signal();
  }
  if (caught != 0) std::raise(caught);  // no longer blocked
  return output;
}

}  // namespace tandem
