// The path between the GPUs is NCCL's choice, or through host memory where the test's environment has
// NCCL_P2P_DISABLE=1.
#include <fmt/format.h>

#include "comm/cuda/nccl_communicator.h"
#include "cuda/gpu_ranks.h"

namespace tandem {

std::string reason_against_gpu_ranks(int world_size) {
  const auto found = CudaDevice::availability();
  if (found.devices == 0) return "no GPU: " + found.reason;
  if (found.devices >= world_size) return "";
  return fmt::format("{} ranks need a GPU each, and there are {}", world_size, found.devices);
}

bool gpu_ranks_can_be_captured() {
  return true;
}

std::unique_ptr<CudaDevice> device_of_gpu_rank(int rank, bool graphs) {
  return std::make_unique<CudaDevice>(CudaDeviceOptions{.ordinal = rank, .graphs = graphs});
}

std::unique_ptr<Communicator> join_gpu_ranks(CudaDevice& device, Comm& comm) {
  return make_nccl_ranks(device, comm.ranks(), comm.watchdog(), {.timeout = std::chrono::seconds(60)})
      .communicator;
}

}  // namespace tandem
