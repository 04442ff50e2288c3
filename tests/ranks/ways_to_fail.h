// How rank 1 of a failing job fails.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "comm/comm_setup.h"
#include "core/error.h"

namespace tandem {

inline void fail_by(std::string_view way) {
  if (way == "killed") raise(SIGKILL);
  if (way == "stopped") raise(SIGSTOP);
  if (way == "terminated") {
    kill(getpid(), SIGTERM);  // to the process: a thread of its own reads it
    return;
  }
  if (way == "exits") _Exit(3);
  throw Error("test", "work", "boom");
}

// A rank that is stopped or goes its own way can only be missed; the others must end their job long before
// the deadline where a rank has gone.
inline CommOptions failing_job_options(std::string_view way, const TerminationSignal& termination) {
  const bool missed = way == "stopped" || way == "skips";
  CommOptions options;
  options.watchdog.timeout = missed ? std::chrono::seconds(2) : std::chrono::seconds(60);
  options.watchdog.termination = &termination;
  return options;
}

}  // namespace tandem
