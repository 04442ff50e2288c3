// The memory of one rank's batch.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"

namespace tandem {

// What one step of one rank needs: A micro-batches of B samples, the first extent being A*B. Images are u8
// [A*B, H, W, C] with targets i32 [A*B]; tokens are i32 [A*B, T] with targets i32 [A*B, T].
struct BatchFormat {
  DType input_dtype = DType::U8;
  Shape inputs;
  Shape targets;  // i32

  ByteCount input_bytes() const { return bytes_of(inputs.elements(), input_dtype); }
  ByteCount target_bytes() const { return bytes_of(targets.elements(), DType::I32); }
  bool operator==(const BatchFormat&) const = default;
};

// Windows on memory the trainer owns, on the host (pinned where a device copies from it).
struct BatchView {
  TensorView inputs;
  TensorView targets;

  BatchFormat format() const { return {inputs.dtype(), inputs.shape(), targets.shape()}; }
};

// Micro-batch `index` of `count`: a contiguous part, the first extent divided by `count`.
BatchView micro_batch(const BatchView& batch, std::int64_t index, std::int64_t count);

}  // namespace tandem
