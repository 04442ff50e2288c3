// How a rank's program ends when something is wrong.
#pragma once

#include <string>

#include "comm/termination_signal.h"

namespace tandem {

// Prints the exception in flight, with rank and host where they help, and returns the exit status for it.
// What is wrong on all ranks is printed once: ranks above 0 hold back for a moment, in which `termination`
// may end them. Call within a catch block.
int report_failure(int rank, const std::string& host, const TerminationSignal& termination);

}  // namespace tandem
