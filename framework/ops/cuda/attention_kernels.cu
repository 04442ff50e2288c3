#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/float_types.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// The same value in every thread. Fixed order, hence the same bits every time.
template <class Combine>
__device__ float combine_in_block(float value, Combine combine) {
  __shared__ float of_warp[kWarps];
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  __syncthreads();  // the last use of of_warp is over
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  for (int warp = 1; warp < kWarps; ++warp) value = combine(value, of_warp[warp]);
  return value;
}

template <class T>
__global__ void causal_softmax_block_per_row(AttentionRows rows, const float* scores, T* probabilities,
                                             float* log_sum_exp) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t seen = row % rows.T + 1;
  const float* in = scores + row * rows.T;
  float largest = -INFINITY;
  for (std::int64_t i = threadIdx.x; i < seen; i += kThreads) largest = fmaxf(largest, rows.scale * in[i]);
  largest = combine_in_block(largest, Larger{});
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x; i < seen; i += kThreads) sum += expf(rows.scale * in[i] - largest);
  sum = combine_in_block(sum, Plus{});
  const float inverse = 1.0f / sum;
  for (std::int64_t i = threadIdx.x; i < rows.T; i += kThreads) {
    const float p = i < seen ? expf(rows.scale * in[i] - largest) * inverse : 0.0f;
    probabilities[row * rows.T + i] = from_float<T>(p);
  }
  if (threadIdx.x == 0) log_sum_exp[row] = largest + logf(sum);
}

template <class T>
__global__ void causal_softmax_backward_block_per_row(AttentionRows rows, CausalSoftmaxBackward tensors) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t query = row % rows.T;
  const std::int64_t head = row / rows.T;
  const std::int64_t at = (query * rows.heads + head) * rows.D;
  const T* out = static_cast<const T*>(tensors.out) + at;
  const T* d_out = static_cast<const T*>(tensors.d_out) + at;
  float projection = 0.0f;
  for (std::int64_t d = threadIdx.x; d < rows.D; d += kThreads) {
    projection += to_float(out[d]) * to_float(d_out[d]);
  }
  projection = combine_in_block(projection, Plus{});
  const float lse = tensors.log_sum_exp[row];
  for (std::int64_t i = threadIdx.x; i < rows.T; i += kThreads) {
    const std::int64_t element = row * rows.T + i;
    float p = 0.0f;
    float ds = 0.0f;
    if (i <= query) {
      p = expf(rows.scale * tensors.scores[element] - lse);
      ds = rows.scale * p * (tensors.d_probabilities[element] - projection);
    }
    static_cast<T*>(tensors.probabilities)[element] = from_float<T>(p);
    static_cast<T*>(tensors.d_scores)[element] = from_float<T>(ds);
  }
}

}  // namespace

cudaError_t launch_causal_softmax(const AttentionRows& rows, const float* scores, void* probabilities,
                                  float* log_sum_exp, cudaStream_t stream) {
  return with_float_type(rows.dtype, [&](auto type) {
    using T = decltype(type);
    causal_softmax_block_per_row<T><<<static_cast<unsigned int>(rows.heads * rows.T), kThreads, 0, stream>>>(
        rows, scores, static_cast<T*>(probabilities), log_sum_exp);
    return cudaGetLastError();
  });
}

cudaError_t launch_causal_softmax_backward(const AttentionRows& rows, const CausalSoftmaxBackward& tensors,
                                           cudaStream_t stream) {
  return with_float_type(rows.dtype, [&](auto type) {
    using T = decltype(type);
    causal_softmax_backward_block_per_row<T>
        <<<static_cast<unsigned int>(rows.heads * rows.T), kThreads, 0, stream>>>(rows, tensors);
    return cudaGetLastError();
  });
}

}  // namespace tandem
