#include "comm/cuda/staged_communicator.h"
#include "cuda/gpu_ranks.h"

namespace tandem {

std::string reason_against_gpu_ranks(int) {
  const auto found = CudaDevice::availability();
  return found.devices > 0 ? "" : "no GPU: " + found.reason;
}

bool gpu_ranks_can_be_captured() {
  return false;
}

std::unique_ptr<CudaDevice> device_of_gpu_rank(int, bool graphs) {
  return std::make_unique<CudaDevice>(CudaDeviceOptions{.graphs = graphs});
}

std::unique_ptr<Communicator> join_gpu_ranks(CudaDevice& device, Comm& comm) {
  return make_staged_communicator(device, comm, CommBackend::Mpi);
}

}  // namespace tandem
