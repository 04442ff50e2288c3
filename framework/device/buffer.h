// Owned memory from an injected allocator.
#pragma once

#include <memory>

#include "core/dtype.h"
#include "core/tensor_view.h"

namespace tandem {

// Where memory comes from: a device, pinned host memory, or a communication library. Outlives its buffers.
// Memory is aligned to at least kBufferAlignment and throws Error when there is not enough.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual void* allocate(ByteCount bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
};

inline constexpr ByteCount kBufferAlignment{4096};

struct ReleaseTo {
  Allocator* allocator = nullptr;
  void operator()(void* memory) const noexcept { allocator->release(memory); }
};

// Move-only owner of one allocation. A moved-from or zero-sized buffer owns nothing.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Allocator& allocator, ByteCount bytes);

  void* data() const { return memory_.get(); }
  ByteCount bytes() const { return bytes_; }

  // A tensor that starts `offset` bytes into the buffer. Throws Error if it does not fit.
  TensorView view(ByteCount offset, DType dtype, const Shape& shape) const;

 private:
  std::unique_ptr<void, ReleaseTo> memory_;
  ByteCount bytes_;
};

}  // namespace tandem
