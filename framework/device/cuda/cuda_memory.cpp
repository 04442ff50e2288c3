#include "device/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include "core/error.h"
#include "device/cuda/cuda_check.h"

namespace tandem {

void* CudaAllocator::allocate(ByteCount bytes) {
  TANDEM_CUDA(cudaSetDevice(ordinal_));
  // CUDA promises 256 bytes of alignment only.
  const auto padded = static_cast<std::size_t>((bytes + kBufferAlignment).value());
  void* origin = nullptr;
  const auto status = place_ == Place::Device ? cudaMalloc(&origin, padded)
                                              : cudaHostAlloc(&origin, padded, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0;
    std::size_t total = 0;
    TANDEM_CUDA(cudaMemGetInfo(&free, &total));
    throw Error("CUDA", place_ == Place::Device ? "cudaMalloc" : "cudaHostAlloc",
                fmt::format("no {} bytes of {} memory left; the GPU has {} of {} bytes free", bytes.value(),
                            place_ == Place::Device ? "GPU" : "pinned host", free, total));
  }
  TANDEM_CUDA(status);
  const auto alignment = static_cast<std::uintptr_t>(kBufferAlignment.value());
  const auto address = (reinterpret_cast<std::uintptr_t>(origin) + alignment - 1) / alignment * alignment;
  auto* memory = reinterpret_cast<void*>(address);
  const std::lock_guard lock(mutex_);
  origin_.emplace(memory, origin);
  ++allocations_;
  return memory;
}

void CudaAllocator::release(void* memory) noexcept {
  void* origin = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = origin_.find(memory);
    if (found == origin_.end()) return;
    origin = found->second;
    origin_.erase(found);
  }
  TANDEM_CUDA_REPORT(cudaSetDevice(ordinal_));
  if (place_ == Place::Device) {
    TANDEM_CUDA_REPORT(cudaFree(origin));
  } else {
    TANDEM_CUDA_REPORT(cudaFreeHost(origin));
  }
}

}  // namespace tandem
