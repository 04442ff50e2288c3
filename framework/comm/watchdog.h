// Ends a rank that waits too long for its peers, and says what it was waiting for.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/flight_recorder.h"
#include "comm/termination_signal.h"

namespace tandem {

struct WatchdogOptions {
  // How long a collective may run, counted from the moment at which this rank reached it. It must cover the
  // longest time by which a peer may be late: evaluation, a checkpoint.
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};
  // May be null. Not owned.
  const TerminationSignal* termination = nullptr;
};

inline constexpr int kTimeoutExitCode = 75;  // EX_TEMPFAIL of sysexits.h: starting the job again may help

// Something beside the flight recorder that may wait for peers: work that runs on a GPU.
class Watched {
 public:
  virtual ~Watched() = default;

  // Called from the watchdog's thread a few times per timeout; must not block. What is wrong, in words that
  // end the sentence "tandem: rank 1 of 2 on host: …": something has run for longer than `timeout`, or has
  // failed while no host call could tell.
  virtual std::optional<std::string> look(std::chrono::milliseconds timeout) = 0;
  // For people: what it waits for. Ends with a newline.
  virtual std::string describe_pending() const = 0;
  // Gives running work up, so that the GPU is free when the process ends. Called once something is wrong, on
  // a thread of its own, and abandoned if it takes longer than kAbortSeconds.
  virtual void abort() noexcept = 0;
};

inline constexpr int kAbortSeconds = 5;

// A thread that looks at the flight recorder, and at what it is told to watch, a few times per timeout. It
// makes no MPI call and frees nothing, since the thread that does may be the one that hangs: it writes one
// report to standard error and calls _exit, upon which mpirun ends the other ranks. On a termination signal
// it does the same with exit code 128
// + SIGTERM. The recorder and the signal outlive it.
class Watchdog {
 public:
  Watchdog(const FlightRecorder& recorder, WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // `watched` is looked at until unwatch() has returned. One at a time. Thread-safe.
  void watch(Watched& watched);
  void unwatch();

 private:
  void run();
  void check();
  [[noreturn]] void end(const std::string& what, const std::string& advice, int exit_code);

  const FlightRecorder& recorder_;
  const WatchdogOptions options_;
  int stop_descriptor_ = -1;
  std::mutex mutex_;
  Watched* watched_ = nullptr;  // under the mutex
  std::thread thread_;
};

// The report if the oldest running collective is older than `timeout` at `now`.
std::optional<std::string> overdue_report(const FlightRecorder& recorder, std::chrono::milliseconds timeout,
                                          FlightRecorder::Clock::time_point now);

}  // namespace tandem
