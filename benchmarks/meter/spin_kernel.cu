#include "meter/spin_kernel.h"

#include <cstdint>

#include "device/cuda/cuda_check.h"

namespace tandem {
namespace {

__device__ std::uint64_t now_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void spin(std::uint64_t ns) {
  const auto end = now_ns() + ns;
  while (now_ns() < end) __nanosleep(1000);
}

}  // namespace

void launch_spin(double ms, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(ms * 1e6));
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace tandem
