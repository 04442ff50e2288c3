// The kernel of the emulated link.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tandem {

struct EmulatedTransfer {
  void* data = nullptr;  // [bytes] in GPU memory: read and written back unchanged
  void* host = nullptr;  // [host_bytes] pinned staging; null: no traffic over PCIe
  std::int64_t bytes = 0;
  std::int64_t host_bytes = 0;
  std::int64_t moved_bytes = 0;  // in all, by ring steps: 2 (n-1)/n * bytes, read once and written once
  double latency_ns = 0.0;
  double duration_ns = 0.0;  // of the whole, latency included
};

// In device memory; a transfer's own while it runs.
struct EmulatedClock {
  unsigned long long turn_ns;     // when its turn on the stream came
  unsigned long long started_ns;  // when its first block started
};

// Grid: `ctas` blocks of 512 threads with so much shared memory that a block shares its multiprocessor with
// no other block. Bytes: moved_bytes read + written per call; bound by the pacing.
void launch_emulated_transfer(const EmulatedTransfer& transfer, EmulatedClock* clock, int ctas,
                              cudaStream_t stream);

}  // namespace tandem
