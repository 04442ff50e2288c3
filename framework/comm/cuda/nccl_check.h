// Turns a failed NCCL call into a tandem::Error, or into a line on standard error where nothing may throw.
#pragma once

#include <nccl.h>

#include <source_location>

namespace tandem {

// Throws Error{"NCCL", expression, …} unless `status` is ncclSuccess; ncclInProgress is no failure: the call
// goes on in the background and whoever made it polls.
void check_nccl(ncclResult_t status, const char* expression, std::source_location site);

// The twin for destructors: prints and goes on.
void report_nccl(ncclResult_t status, const char* expression) noexcept;

}  // namespace tandem

#define TANDEM_NCCL(expression) \
  ::tandem::check_nccl((expression), #expression, std::source_location::current())
#define TANDEM_NCCL_REPORT(expression) ::tandem::report_nccl((expression), #expression)
