#include "core/rng.h"
#include "ops/cuda/float_types.cuh"
#include "ops/cuda/tuning_kernels.h"

namespace tandem {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void fill_random_four_per_thread(T* data, std::int64_t count, float scale) {
  const std::int64_t quad = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const auto words = philox(philox_key(0, RandomUse::Synthetic), static_cast<std::uint64_t>(quad));
  for (int j = 0; j < 4; ++j) {
    const std::int64_t i = 4 * quad + j;
    if (i < count) data[i] = from_float<T>(scale * (2.0f * uniform01(words.word[j]) - 1.0f));
  }
}

__device__ std::uint64_t nanoseconds_now() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin_one_thread(std::uint64_t nanoseconds) {
  const auto start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

}  // namespace

cudaError_t launch_fill_random(void* data, DType dtype, std::int64_t count, float scale,
                               cudaStream_t stream) {
  return with_float_type(dtype, [&](auto type) {
    using T = decltype(type);
    fill_random_four_per_thread<T>
        <<<blocks_for((count + 3) / 4, kThreads), kThreads, 0, stream>>>(static_cast<T*>(data), count, scale);
    return cudaGetLastError();
  });
}

cudaError_t launch_spin(std::int64_t microseconds, cudaStream_t stream) {
  spin_one_thread<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(microseconds) * 1000u);
  return cudaGetLastError();
}

}  // namespace tandem
