// The kernels of embeddings.
//
// Launchers enqueue on `stream` and return what the launch returned. A token outside [0, V) ends the job: the
// kernel prints which one and where, and traps.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "ops/cuda/linear_kernels.h"

namespace tandem {

struct EmbeddingShape {
  std::int64_t B, T, V, C;
  DType dtype;
};

// out [B*T, C] = token_table[token] + position_table[t]. Reads a row of the token table and writes one of out
// per token; bound by memory.
cudaError_t launch_embedding(const EmbeddingShape& shape, const std::int32_t* tokens, const void* token_table,
                             const void* position_table, void* out, cudaStream_t stream);

// Orders the positions of a batch by token, those of one token as they were: a stable radix sort.
struct TokenOrder {
  std::int32_t* tokens;     // [B*T], ascending
  std::int32_t* positions;  // [B*T]
  std::int32_t* unsorted;   // [B*T] scratch
  void* scratch;            // token_order_scratch_bytes()
};
std::size_t token_order_scratch_bytes(const EmbeddingShape& shape);
cudaError_t launch_token_order(const EmbeddingShape& shape, const std::int32_t* tokens,
                               const TokenOrder& order, cudaStream_t stream);

// Adds the rows of d_out that belong to one token, in the order of their positions, into its row of the
// table. Rows of other tokens stay. Reads d_out once and writes the rows that occur; bound by memory, unless
// a few tokens make up most of a batch.
cudaError_t launch_token_gradient(const EmbeddingShape& shape, const TokenOrder& order, const void* d_out,
                                  const GradientOut& d_table, cudaStream_t stream);

// d_table[t] = or += the sum over sequences of d_out[b, t], in their order. Reads d_out once; bound by
// memory.
cudaError_t launch_position_gradient(const EmbeddingShape& shape, const void* d_out,
                                     const GradientOut& d_table, cudaStream_t stream);

}  // namespace tandem
