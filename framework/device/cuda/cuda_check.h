// Turns a failed CUDA call into a tandem::Error, or into a line on standard error where nothing may throw.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace tandem {

// Throws Error{"CUDA", expression, …} unless `status` is cudaSuccess. A failed kernel is reported by
// whichever call comes next, so the message names the call that noticed, not necessarily the one that failed.
void check_cuda(cudaError_t status, const char* expression, std::source_location site);

// The twin for destructors: prints and goes on. Silent while the process ends and the driver is gone.
void report_cuda(cudaError_t status, const char* expression) noexcept;

}  // namespace tandem

#define TANDEM_CUDA(expression) \
  ::tandem::check_cuda((expression), #expression, std::source_location::current())
#define TANDEM_CUDA_REPORT(expression) ::tandem::report_cuda((expression), #expression)
