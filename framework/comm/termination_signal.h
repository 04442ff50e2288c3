// SIGTERM as something to read, so that a rank which is ended from outside can still say what it was waiting
// for.
#pragma once

#include <csignal>

namespace tandem {

// When a rank dies, mpirun sends SIGTERM to the others, and a batch system sends it at the end of an
// allocation. A signal handler may not allocate or lock; a thread that reads the signal from a descriptor may
// do both.
//
// Blocks SIGTERM for the calling thread and all threads it starts from now on, so make it first thing in
// main, before MPI's start-up makes threads, and give it to a Watchdog: until then the signal only waits,
// while SIGKILL and SIGINT work as ever. Destruction restores the calling thread. Child processes inherit the
// mask.
class TerminationSignal {
 public:
  TerminationSignal();
  ~TerminationSignal();
  TerminationSignal(const TerminationSignal&) = delete;
  TerminationSignal& operator=(const TerminationSignal&) = delete;

  // Becomes readable (poll) when the signal has come. Owned by this object.
  int descriptor() const { return descriptor_; }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace tandem
