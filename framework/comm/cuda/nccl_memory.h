// GPU memory from NCCL's own allocator, registered with a communicator or not.
#pragma once

#include <nccl.h>

#include <mutex>
#include <unordered_map>

#include "device/buffer.h"

namespace tandem {

// ncclMemAlloc gives memory that other processes can map, which lets NCCL read and write it directly where it
// is registered. Thread-safe. `comm` outlives all buffers; null: nothing is registered.
class NcclAllocator final : public Allocator {
 public:
  NcclAllocator(int ordinal, ncclComm_t comm) : ordinal_(ordinal), comm_(comm) {}

  void* allocate(ByteCount bytes) override;
  void release(void* memory) noexcept override;

 private:
  struct Block {
    void* origin = nullptr;        // what NCCL gave
    void* registration = nullptr;  // null: not registered
  };

  int ordinal_;
  ncclComm_t comm_;
  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;  // by aligned address
};

}  // namespace tandem
