// How kernels move data: packs of neighbours, computed on as fp32.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "ops/cuda/float_types.cuh"
#include "ops/cuda/linear_kernels.h"

namespace tandem {

// Channels or elements that a thread moves at once: 16 bytes of a 16-bit type, twice that of fp32. Where an
// extent is no multiple of it, the same kernels run with packs of one.
inline constexpr int kPackWidth = 8;

inline int pack_width(std::int64_t extent) {
  return extent % kPackWidth == 0 ? kPackWidth : 1;
}

// Calls f(std::integral_constant) with `width`, which came from pack_width().
template <class F>
cudaError_t with_width(int width, F&& f) {
  if (width == kPackWidth) return f(std::integral_constant<int, kPackWidth>{});
  return f(std::integral_constant<int, 1>{});
}

// Pack `index`, of which `load` loads 16 bytes at a time. Spelled out, since compilers take a pack of 16-bit
// values in shared memory apart into eight loads, each of which meets the same banks as its neighbours'.
template <class T, int N, class Load>
__device__ inline Pack<T, N> load_pieces(const T* base, std::int64_t index, Load load) {
  constexpr int kPieces = static_cast<int>(sizeof(Pack<T, N>) / sizeof(uint4));
  if constexpr (kPieces == 0) {
    return reinterpret_cast<const Pack<T, N>*>(base)[index];
  } else {
    Pack<T, N> pack;
    const auto* from = reinterpret_cast<const uint4*>(base) + index * kPieces;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) reinterpret_cast<uint4*>(&pack)[i] = load(from + i);
    return pack;
  }
}

template <class T, int N>
__device__ inline Pack<T, N> load_pack(const T* base, std::int64_t index) {
  return load_pieces<T, N>(base, index, [](const uint4* from) { return *from; });
}

template <class T, int N>
__device__ inline Pack<T, N> load_pack(const Pack<T, N>& from) {
  return load_pack<T, N>(from.value, 0);
}

// The same for data that nobody reads again soon: leaves the cache to others.
template <class T, int N>
__device__ inline Pack<T, N> load_pack_once(const T* base, std::int64_t index) {
  return load_pieces<T, N>(base, index, [](const uint4* from) { return __ldcs(from); });
}

// Starts a copy into shared memory that holds no registers while it is under way; packs of less than 16 bytes
// are copied at once. Belongs to the group that the next __pipeline_commit() closes.
template <class T, int N>
__device__ inline void copy_pack_async(Pack<T, N>* to, const T* base, std::int64_t index) {
  constexpr int kPieces = static_cast<int>(sizeof(Pack<T, N>) / sizeof(uint4));
  if constexpr (kPieces == 0) {
    *to = load_pack<T, N>(base, index);
  } else {
    const auto* from = reinterpret_cast<const uint4*>(base) + index * kPieces;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      __pipeline_memcpy_async(reinterpret_cast<uint4*>(to) + i, from + i, sizeof(uint4));
    }
  }
}

template <class T, int N>
__device__ inline void store_pack(T* base, std::int64_t index, const Pack<T, N>& pack) {
  constexpr int kPieces = static_cast<int>(sizeof(pack) / sizeof(uint4));
  if constexpr (kPieces == 0) {
    reinterpret_cast<Pack<T, N>*>(base)[index] = pack;
  } else {
    auto* to = reinterpret_cast<uint4*>(base) + index * kPieces;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) to[i] = reinterpret_cast<const uint4*>(&pack)[i];
  }
}

template <class T, int N>
__device__ inline void to_floats(const Pack<T, N>& pack, float (&values)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] = to_float(pack.value[j]);
}

// One instruction converts a pair.
__device__ inline void store_pair(float* to, float a, float b) {
  to[0] = a;
  to[1] = b;
}
__device__ inline void store_pair(__nv_bfloat16* to, float a, float b) {
  *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(a, b);
}
__device__ inline void store_pair(__half* to, float a, float b) {
  *reinterpret_cast<__half2*>(to) = __floats2half2_rn(a, b);
}

template <class T, int N>
__device__ inline Pack<T, N> from_floats(const float (&values)[N]) {
  Pack<T, N> pack;
  if constexpr (N % 2 == 0) {
#pragma unroll
    for (int j = 0; j < N; j += 2) store_pair(pack.value + j, values[j], values[j + 1]);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) pack.value[j] = from_float<T>(values[j]);
  }
  return pack;
}

// Memory whose dtype a kernel learns only when it runs. All threads take the same branch.
template <int N>
__device__ inline void load_floats(const void* base, DType dtype, std::int64_t index, float (&values)[N]) {
  if (dtype == DType::F32) {
    to_floats(load_pack<float, N>(static_cast<const float*>(base), index), values);
  } else if (dtype == DType::BF16) {
    to_floats(load_pack<__nv_bfloat16, N>(static_cast<const __nv_bfloat16*>(base), index), values);
  } else {
    to_floats(load_pack<__half, N>(static_cast<const __half*>(base), index), values);
  }
}

template <int N>
__device__ inline void store_floats(void* base, DType dtype, std::int64_t index, const float (&values)[N]) {
  if (dtype == DType::F32) {
    store_pack(static_cast<float*>(base), index, from_floats<float>(values));
  } else if (dtype == DType::BF16) {
    store_pack(static_cast<__nv_bfloat16*>(base), index, from_floats<__nv_bfloat16>(values));
  } else {
    store_pack(static_cast<__half*>(base), index, from_floats<__half>(values));
  }
}

// Writes or adds N neighbours of a gradient.
template <int N>
__device__ inline void put_gradient(const GradientOut& to, std::int64_t index, float (&values)[N]) {
  if (to.accumulate) {
    float before[N];
    load_floats(to.data, to.dtype, index, before);
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] += before[j];
  }
  store_floats(to.data, to.dtype, index, values);
}

__device__ inline void put_gradient(const GradientOut& to, std::int64_t index, float value) {
  float values[1] = {value};
  put_gradient(to, index, values);
}

}  // namespace tandem
