// Row-wise kernels of attention as plain matrix products (see matmul_attention.cpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace tandem {

// One sequence: `heads` square matrices [T, T] of scores.
struct AttentionRows {
  std::int64_t T, heads, D;
  DType dtype;
  float scale;  // 1 / sqrt(D)
};

// probabilities [heads, T, T] = softmax(scale * scores) over the keys up to each query, zero behind;
// log_sum_exp [heads, T]. A block per row: reads scores twice (the second time from cache), writes once.
cudaError_t launch_causal_softmax(const AttentionRows& rows, const float* scores, void* probabilities,
                                  float* log_sum_exp, cudaStream_t stream);

// Dao et al., "FlashAttention", NeurIPS 2022, appendix B:
//   P = exp(scale * S - lse);  dS = scale * P * (dP - rowsum(dO * O))
struct CausalSoftmaxBackward {
  const float* scores;           // S [heads, T, T]
  const float* d_probabilities;  // dP [heads, T, T]
  const float* log_sum_exp;      // [heads, T]
  const void* out;               // O [T, heads * D]
  const void* d_out;             // dO, likewise
  void* probabilities;           // P [heads, T, T], written, zero behind the query
  void* d_scores;                // dS, likewise
};
cudaError_t launch_causal_softmax_backward(const AttentionRows& rows, const CausalSoftmaxBackward& tensors,
                                           cudaStream_t stream);

}  // namespace tandem
