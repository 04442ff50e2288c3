#include "comm/cuda/nccl_memory.h"

#include <cstdint>

#include "comm/cuda/nccl_check.h"
#include "core/error.h"
#include "device/cuda/cuda_check.h"

namespace tandem {

void* NcclAllocator::allocate(ByteCount bytes) {
  TANDEM_CUDA(cudaSetDevice(ordinal_));
  Block block;
  // Where the driver cannot share memory, ncclMemAlloc falls back to cudaMalloc, which aligns to 256 bytes.
  const auto padded = static_cast<std::size_t>((bytes + kBufferAlignment).value());
  TANDEM_NCCL(ncclMemAlloc(&block.origin, padded));
  const auto alignment = static_cast<std::uintptr_t>(kBufferAlignment.value());
  const auto address =
      (reinterpret_cast<std::uintptr_t>(block.origin) + alignment - 1) / alignment * alignment;
  auto* memory = reinterpret_cast<void*>(address);
  if (comm_ != nullptr) {
    TANDEM_NCCL(
        ncclCommRegister(comm_, memory, static_cast<std::size_t>(bytes.value()), &block.registration));
  }
  const std::lock_guard lock(mutex_);
  blocks_.emplace(memory, block);
  return memory;
}

void NcclAllocator::release(void* memory) noexcept {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) return;
    block = found->second;
    blocks_.erase(found);
  }
  TANDEM_CUDA_REPORT(cudaSetDevice(ordinal_));
  if (block.registration != nullptr) TANDEM_NCCL_REPORT(ncclCommDeregister(comm_, block.registration));
  TANDEM_NCCL_REPORT(ncclMemFree(block.origin));
}

}  // namespace tandem
