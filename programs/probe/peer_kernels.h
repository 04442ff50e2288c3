// Kernels of the peer test: a pattern, and a copy made by multiprocessors instead of the copy engine.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tandem {

// Word i of the pattern of `seed`: never 0, so that memory that was not written is seen.
__host__ __device__ inline std::uint32_t pattern_word(std::uint64_t i, std::uint32_t seed) {
  return (static_cast<std::uint32_t>(i) * 2654435761u + seed * 40503u) | 1u;
}

// data [words]. Grid-stride; bound by memory.
void launch_write_pattern(std::uint32_t* data, std::int64_t words, std::uint32_t seed, cudaStream_t stream);

// to [words] = from [words], 16 bytes per thread and turn; REQUIRES words % 4 == 0. `to` or `from` may be
// another GPU's. Grid-stride; bound by the link.
void launch_copy(std::uint32_t* to, const std::uint32_t* from, std::int64_t words, cudaStream_t stream);

}  // namespace tandem
