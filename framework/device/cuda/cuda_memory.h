// Device memory and pinned host memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "device/buffer.h"

namespace tandem {

// Everything is allocated before step 0: an allocation inside a step would wait for the GPU. The count shows
// that this holds. Thread-safe.
class CudaAllocator final : public Allocator {
 public:
  enum class Place { Device, PinnedHost };

  CudaAllocator(int ordinal, Place place) : ordinal_(ordinal), place_(place) {}

  void* allocate(ByteCount bytes) override;  // throws Error that names the free memory
  void release(void* memory) noexcept override;
  std::int64_t allocations() const { return allocations_; }  // calls of allocate so far

 private:
  int ordinal_;
  Place place_;
  std::atomic<std::int64_t> allocations_{0};
  std::mutex mutex_;
  std::unordered_map<void*, void*> origin_;  // aligned address -> what CUDA gave
};

}  // namespace tandem
