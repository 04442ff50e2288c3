// Ends the process if a call that cannot be interrupted does not return in time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tandem {

// MPI_Init and MPI_Finalize wait for all ranks, and wait for ever for one that is stopped. Make a Deadline
// before such a call and let it go after it. When `timeout` has passed in between, a thread writes what was
// waited for to standard error and calls _exit with kTimeoutExitCode (watchdog.h), upon which mpirun ends the
// other ranks.
class Deadline {
 public:
  Deadline(std::string call, std::chrono::milliseconds timeout);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void run();

  const std::string call_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool kept_ = false;
  std::thread thread_;  // last: everything it uses exists before it starts
};

}  // namespace tandem
