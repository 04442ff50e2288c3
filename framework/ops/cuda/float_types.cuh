// What kernels need to be written once for fp32, bf16 and fp16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace tandem {

// All kernels compute in fp32, whatever they read and write.
__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}

template <class T>
__device__ inline T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}

// N neighbours that are loaded and stored at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T value[N];
};

// Calls f(T{}) with the type that stores `dtype`; f returns a cudaError_t. Types that are no float are
// refused.
template <class F>
cudaError_t with_float_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      return f(float{});
    case DType::BF16:
      return f(__nv_bfloat16{});
    case DType::F16:
      return f(__half{});
    default:
      return cudaErrorInvalidValue;
  }
}

inline bool aligned(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

inline unsigned int blocks_for(std::int64_t items, int per_block) {
  return static_cast<unsigned int>((items + per_block - 1) / per_block);
}

}  // namespace tandem
