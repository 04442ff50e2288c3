#include "comm/deadline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "comm/host_name.h"
#include "comm/watchdog.h"

namespace tandem {

Deadline::Deadline(std::string call, std::chrono::milliseconds timeout)
    : call_(std::move(call)), timeout_(timeout), thread_([this] { run(); }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    kept_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Deadline::run() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, timeout_, [this] { return kept_; })) return;
  const double seconds = std::chrono::duration<double>(timeout_).count();
  const auto report = fmt::format(
      "tandem: a rank on {}: {} did not return within {:g} s; ending the job\n"
      "  waiting for: all ranks of the job to make the same call\n"
      "  to do:       look for a rank that is stopped or that runs another program.\n"
      "               If ranks only start slowly here, raise comm.timeout_s.\n",
      host_name(), call_, seconds);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, report.data(), report.size());
  _exit(kTimeoutExitCode);
}

}  // namespace tandem
