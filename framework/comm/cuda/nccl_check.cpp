#include "comm/cuda/nccl_check.h"

#include <cstdio>

#include "core/error.h"

namespace tandem {

void check_nccl(ncclResult_t status, const char* expression, std::source_location site) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  throw Error("NCCL", expression,
              fmt::format("{}: {}", ncclGetErrorString(status), ncclGetLastError(nullptr)), site);
}

void report_nccl(ncclResult_t status, const char* expression) noexcept {
  if (status == ncclSuccess || status == ncclInProgress) return;
  std::fprintf(stderr, "tandem: NCCL: %s failed: %s\n", expression, ncclGetErrorString(status));
}

}  // namespace tandem
