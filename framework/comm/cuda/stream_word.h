// A word of host memory that a stream writes when it gets there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem {

// Enqueues *word = value behind everything on the stream, without a kernel: the GPU's front end writes it. In
// a capture it becomes a node. `word` is pinned host memory that outlives the stream's work. Throws Error.
// (CUDA Driver API, cuStreamWriteValue32.)
void write_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value);

}  // namespace tandem
