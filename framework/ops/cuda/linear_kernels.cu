#include <algorithm>

#include "ops/cuda/block_sums.cuh"
#include "ops/cuda/linear_kernels.h"
#include "ops/cuda/packs.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;
constexpr int kPack = 8;  // elements a thread moves at once: 16 bytes of a 16-bit type

// Calls f(std::integral_constant) with the widest pack that count and pointers allow: all or one.
template <class F>
cudaError_t with_pack(std::int64_t count, bool all_aligned, F&& f) {
  if (count % kPack == 0 && all_aligned) return f(std::integral_constant<int, kPack>{});
  return f(std::integral_constant<int, 1>{});
}

template <class From, class To, int N>
__global__ void store_gradient_pack_per_thread(const From* from, To* to, std::int64_t packs,
                                               bool accumulate) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  const auto in = reinterpret_cast<const Pack<From, N>*>(from)[i];
  auto& target = reinterpret_cast<Pack<To, N>*>(to)[i];
  Pack<To, N> out;
  if (accumulate) out = target;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float before = accumulate ? to_float(out.value[j]) : 0.0f;
    out.value[j] = from_float<To>(before + to_float(in.value[j]));
  }
  target = out;
}

constexpr float kSqrt2OverPi = 0.7978845608028654f;
constexpr float kCubic = 0.044715f;

__device__ float gelu(float z) {
  return 0.5f * z * (1.0f + tanhf(kSqrt2OverPi * z * (1.0f + kCubic * z * z)));
}

__device__ float gelu_gradient(float z) {
  const float t = tanhf(kSqrt2OverPi * z * (1.0f + kCubic * z * z));
  return 0.5f * (1.0f + t) + 0.5f * z * (1.0f - t * t) * kSqrt2OverPi * (1.0f + 3.0f * kCubic * z * z);
}

template <class T, int N>
__global__ void gelu_pack_per_thread(const T* z, T* y, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  const auto in = reinterpret_cast<const Pack<T, N>*>(z)[i];
  Pack<T, N> out;
#pragma unroll
  for (int j = 0; j < N; ++j) out.value[j] = from_float<T>(gelu(to_float(in.value[j])));
  reinterpret_cast<Pack<T, N>*>(y)[i] = out;
}

template <class T, int N>
__global__ void gelu_backward_pack_per_thread(const T* z, T* dx, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  const auto in = reinterpret_cast<const Pack<T, N>*>(z)[i];
  auto& gradient = reinterpret_cast<Pack<T, N>*>(dx)[i];
  auto out = gradient;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    out.value[j] = from_float<T>(to_float(out.value[j]) * gelu_gradient(to_float(in.value[j])));
  }
  gradient = out;
}

template <class T>
__global__ void add_bias_element_per_thread(T* matrix, const T* bias, std::int64_t count,
                                            std::int64_t columns) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) matrix[i] = from_float<T>(to_float(matrix[i]) + to_float(bias[i % columns]));
}

// Column sums, first stage. A block owns 32 packs of columns and one stretch of rows; its 8 row lanes walk
// the stretch, so that each warp reads 32 packs of one row, next to each other.
constexpr int kLanes = 32;
constexpr int kRowLanes = 8;
constexpr std::int64_t kMaxStretches = 64;
constexpr std::int64_t kMinRows = 64;  // of a stretch: fewer would not pay for the second stage

struct ColumnTiling {
  std::int64_t stretches, rows_per_stretch;
};

ColumnTiling tile_rows(std::int64_t rows) {
  const auto wanted = std::clamp<std::int64_t>((rows + kMinRows - 1) / kMinRows, 1, kMaxStretches);
  const auto per_stretch = (rows + wanted - 1) / wanted;
  return {(rows + per_stretch - 1) / per_stretch, per_stretch};
}

template <class T, int N>
__global__ void column_sum_stretch_per_block(const T* matrix, std::int64_t rows, std::int64_t columns,
                                             std::int64_t rows_per_stretch, float* partial) {
  __shared__ float shared[kRowLanes][kLanes * N];
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * kLanes + threadIdx.x) * N;
  const std::int64_t first = blockIdx.y * rows_per_stretch;
  const std::int64_t last = min(first + rows_per_stretch, rows);
  float sum[N] = {};
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t row = first + threadIdx.y; row < last; row += kRowLanes) {
      const auto pack = *reinterpret_cast<const Pack<T, N>*>(matrix + row * columns + column);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += to_float(pack.value[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < N; ++j) shared[threadIdx.y][threadIdx.x * N + j] = sum[j];
  __syncthreads();
  for (int c = threadIdx.y * kLanes + threadIdx.x; c < kLanes * N; c += kLanes * kRowLanes) {
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kLanes * N + c;
    if (at >= columns) continue;
    float total = 0.0f;
#pragma unroll
    for (int lane = 0; lane < kRowLanes; ++lane) total += shared[lane][c];
    partial[blockIdx.y * columns + at] = total;
  }
}

__global__ void column_sum_finish_column_per_column(const float* partial, int stretches, std::int64_t columns,
                                                    GradientOut to) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kFinishColumns + threadIdx.x;
  const bool inside = column < columns;
  const double total = sum_partials(partial, stretches, columns, column, inside);
  if (inside && threadIdx.y == 0) put_gradient(to, column, static_cast<float>(total));
}

}  // namespace

cudaError_t launch_store_gradient(ConstFloats from, GradientOut to, std::int64_t count, cudaStream_t stream) {
  return with_float_type(from.dtype, [&](auto from_type) {
    return with_float_type(to.dtype, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      const bool all_aligned =
          aligned(from.data, sizeof(From) * kPack) && aligned(to.data, sizeof(To) * kPack);
      return with_pack(count, all_aligned, [&](auto n) {
        const auto packs = count / n();
        store_gradient_pack_per_thread<From, To, n()><<<blocks_for(packs, kThreads), kThreads, 0, stream>>>(
            static_cast<const From*>(from.data), static_cast<To*>(to.data), packs, to.accumulate);
        return cudaGetLastError();
      });
    });
  });
}

std::int64_t column_sum_floats(std::int64_t rows, std::int64_t columns) {
  return tile_rows(rows).stretches * columns;
}

cudaError_t launch_column_sum(const ColumnSum& sum, cudaStream_t stream) {
  const auto tiling = tile_rows(sum.rows);
  const auto status = with_float_type(sum.matrix.dtype, [&](auto type) {
    using T = decltype(type);
    return with_pack(sum.columns, aligned(sum.matrix.data, sizeof(T) * kPack), [&](auto n) {
      const dim3 grid(blocks_for(sum.columns, kLanes * n()), static_cast<unsigned int>(tiling.stretches));
      column_sum_stretch_per_block<T, n()><<<grid, dim3(kLanes, kRowLanes), 0, stream>>>(
          static_cast<const T*>(sum.matrix.data), sum.rows, sum.columns, tiling.rows_per_stretch,
          sum.partial_sums);
      return cudaGetLastError();
    });
  });
  if (status != cudaSuccess) return status;
  column_sum_finish_column_per_column<<<blocks_for(sum.columns, kFinishColumns),
                                        dim3(kFinishColumns, kFinishLanes), 0, stream>>>(
      sum.partial_sums, static_cast<int>(tiling.stretches), sum.columns, sum.to);
  return cudaGetLastError();
}

cudaError_t launch_add_bias(Floats matrix, const void* bias, std::int64_t rows, std::int64_t columns,
                            cudaStream_t stream) {
  return with_float_type(matrix.dtype, [&](auto type) {
    using T = decltype(type);
    const auto count = rows * columns;
    add_bias_element_per_thread<T><<<blocks_for(count, kThreads), kThreads, 0, stream>>>(
        static_cast<T*>(matrix.data), static_cast<const T*>(bias), count, columns);
    return cudaGetLastError();
  });
}

cudaError_t launch_gelu(const void* z, Floats y, std::int64_t count, cudaStream_t stream) {
  return with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    const bool all_aligned = aligned(z, sizeof(T) * kPack) && aligned(y.data, sizeof(T) * kPack);
    return with_pack(count, all_aligned, [&](auto n) {
      const auto packs = count / n();
      gelu_pack_per_thread<T, n()><<<blocks_for(packs, kThreads), kThreads, 0, stream>>>(
          static_cast<const T*>(z), static_cast<T*>(y.data), packs);
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_gelu_backward(const void* z, Floats dx, std::int64_t count, cudaStream_t stream) {
  return with_float_type(dx.dtype, [&](auto type) {
    using T = decltype(type);
    const bool all_aligned = aligned(z, sizeof(T) * kPack) && aligned(dx.data, sizeof(T) * kPack);
    return with_pack(count, all_aligned, [&](auto n) {
      const auto packs = count / n();
      gelu_backward_pack_per_thread<T, n()><<<blocks_for(packs, kThreads), kThreads, 0, stream>>>(
          static_cast<const T*>(z), static_cast<T*>(dx.data), packs);
      return cudaGetLastError();
    });
  });
}

}  // namespace tandem
