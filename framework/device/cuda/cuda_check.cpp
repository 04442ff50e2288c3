#include "device/cuda/cuda_check.h"

#include <cstdio>

#include "core/error.h"

namespace tandem {

void check_cuda(cudaError_t status, const char* expression, std::source_location site) {
  if (status == cudaSuccess) [[likely]]
    return;
  // Clears the thread's last error (not a sticky one), so that the next check does not report this one again.
  static_cast<void>(cudaGetLastError());
  throw Error("CUDA", expression, fmt::format("{}: {}", cudaGetErrorName(status), cudaGetErrorString(status)),
              site);
}

void report_cuda(cudaError_t status, const char* expression) noexcept {
  if (status == cudaSuccess || status == cudaErrorCudartUnloading) return;
  std::fprintf(stderr, "CUDA: %s in %s\n", cudaGetErrorString(status), expression);
}

}  // namespace tandem
