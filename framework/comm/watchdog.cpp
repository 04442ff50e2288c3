#include "comm/watchdog.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <future>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

std::string heading(const FlightRecorder& recorder, const std::string& what) {
  const auto& self = recorder.identity();
  return fmt::format("tandem: rank {} of {} on {}: {}\n", self.rank.value, self.world_size, self.host, what);
}

constexpr const char* kAdvice =
    "  to do:       look at the rank that reports nothing, or a lower number: the others wait for it.\n"
    "               If it is only slow there, raise comm.timeout_s.\n";

// One write, so that the reports of several ranks do not mix line by line.
void write_report(const std::string& report) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, report.data(), report.size());
}

[[noreturn]] void end_process(const std::string& report, int exit_code) {
  write_report(report);
  _exit(exit_code);
}

}  // namespace

std::optional<std::string> overdue_report(const FlightRecorder& recorder, std::chrono::milliseconds timeout,
                                          FlightRecorder::Clock::time_point now) {
  const auto oldest = recorder.oldest_running();
  if (!oldest || now - *oldest->started <= timeout) return std::nullopt;
  const double seconds = std::chrono::duration<double>(timeout).count();
  return heading(recorder,
                 fmt::format("a collective did not finish within {:g} s; ending the job", seconds)) +
         recorder.describe_pending() + kAdvice;
}

Watchdog::Watchdog(const FlightRecorder& recorder, WatchdogOptions options)
    : recorder_(recorder), options_(options), stop_descriptor_(eventfd(0, EFD_CLOEXEC)) {
  TANDEM_EXPECT(options_.timeout.count() > 0, "the timeout must be above 0, got {} ms",
                options_.timeout.count());
  TANDEM_EXPECT(stop_descriptor_ >= 0, "eventfd failed: no file descriptors left?");
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  eventfd_write(stop_descriptor_, 1);
  thread_.join();
  close(stop_descriptor_);
}

void Watchdog::watch(Watched& watched) {
  const std::lock_guard lock(mutex_);
  TANDEM_EXPECT(watched_ == nullptr, "a watchdog watches one thing at a time");
  watched_ = &watched;
}

void Watchdog::unwatch() {
  const std::lock_guard lock(mutex_);
  watched_ = nullptr;
}

void Watchdog::run() {
  using std::chrono::milliseconds;
  const auto period = std::clamp(options_.timeout / 8, milliseconds(1), milliseconds(500));
  const int signal = options_.termination == nullptr ? -1 : options_.termination->descriptor();
  std::array<pollfd, 2> watched{pollfd{stop_descriptor_, POLLIN, 0}, pollfd{signal, POLLIN, 0}};
  while (true) {
    poll(watched.data(), watched.size(), static_cast<int>(period.count()));  // ignores negative descriptors
    if (watched[0].revents != 0) return;
    const std::lock_guard lock(mutex_);
    if (watched[1].revents != 0) end("ended from outside (SIGTERM)", "", 128 + SIGTERM);
    check();
  }
}

void Watchdog::check() {
  const auto report = overdue_report(recorder_, options_.timeout, FlightRecorder::Clock::now());
  if (report) end_process(*report, kTimeoutExitCode);
  if (watched_ == nullptr) return;
  if (const auto wrong = watched_->look(options_.timeout)) end(*wrong, kAdvice, kTimeoutExitCode);
}

void Watchdog::end(const std::string& what, const std::string& advice, int exit_code) {
  auto report = heading(recorder_, what);
  if (watched_ == nullptr) {
    report += recorder_.describe_pending();
  } else {
    report += watched_->describe_pending();
    if (recorder_.oldest_running()) report += recorder_.describe_pending();
  }
  write_report(report + advice);
  if (watched_ != nullptr) {
    std::promise<void> done;
    auto finished = done.get_future();
    std::thread([watched = watched_, done = std::move(done)]() mutable {
      watched->abort();
      done.set_value();
    }).detach();
    finished.wait_for(std::chrono::seconds(kAbortSeconds));
  }
  _exit(exit_code);
}

}  // namespace tandem
