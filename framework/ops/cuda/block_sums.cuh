// Reductions in a fixed order: within a block, and of what the blocks of a first stage left.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem {

struct Plus {
  template <class Value>
  __device__ Value operator()(Value a, Value b) const {
    return a + b;
  }
};
struct PlusEach {
  __device__ float2 operator()(float2 a, float2 b) const { return {a.x + b.x, a.y + b.y}; }
};
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Over the 32 threads of a warp, the same value in each.
template <class Value, class Combine>
__device__ inline Value combine_in_warp(Value value, Combine combine) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

// Over the warps of a block, each of which has its value in all its threads; the same in every thread.
template <class Value, class Combine>
__device__ inline Value combine_warps(Value value, Combine combine) {
  __shared__ Value of_warp[32];
  __syncthreads();  // the last use of of_warp is over
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  const int warps = static_cast<int>(blockDim.x / 32);
  for (int warp = 1; warp < warps; ++warp) value = combine(value, of_warp[warp]);
  return value;
}

// Over all threads of a block of whole warps, the same value in each.
template <class Value, class Combine>
__device__ inline Value combine_in_block(Value value, Combine combine) {
  return combine_warps(combine_in_warp(value, combine), combine);
}

// The second stage of column sums, with blocks of kFinishColumns x kFinishLanes threads.
inline constexpr int kFinishColumns = 32;
inline constexpr int kFinishLanes = 32;

// The sum of `count` rows of `partial` [count, stride] in one column; whole in the threads with threadIdx.y
// == 0. All threads of the block call it; those without a column say so by `inside`.
__device__ inline double sum_partials(const float* partial, int count, std::int64_t stride,
                                      std::int64_t column, bool inside) {
  __shared__ double of_lane[kFinishLanes][kFinishColumns + 1];
  double sum = 0.0;
  if (inside) {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.y); i < count; i += kFinishLanes) {
      sum += static_cast<double>(partial[i * stride + column]);
    }
  }
  __syncthreads();  // the last use of of_lane is over
  of_lane[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return 0.0;
  for (int lane = 1; lane < kFinishLanes; ++lane) sum += of_lane[lane][threadIdx.x];
  return sum;
}

}  // namespace tandem
