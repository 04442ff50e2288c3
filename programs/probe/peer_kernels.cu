#include "probe/peer_kernels.h"

namespace tandem {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocks = 132;  // as many as a Hopper GPU has multiprocessors: enough for any link

__global__ void __launch_bounds__(kThreads)
    write_pattern(std::uint32_t* data, std::int64_t words, std::uint32_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < words;
       i += stride)
    data[i] = pattern_word(static_cast<std::uint64_t>(i), seed);
}

__global__ void __launch_bounds__(kThreads) copy_words(uint4* to, const uint4* from, std::int64_t vectors) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors;
       i += stride)
    to[i] = from[i];
}

}  // namespace

void launch_write_pattern(std::uint32_t* data, std::int64_t words, std::uint32_t seed, cudaStream_t stream) {
  write_pattern<<<kBlocks, kThreads, 0, stream>>>(data, words, seed);
}

void launch_copy(std::uint32_t* to, const std::uint32_t* from, std::int64_t words, cudaStream_t stream) {
  copy_words<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<uint4*>(to),
                                               reinterpret_cast<const uint4*>(from), words / 4);
}

}  // namespace tandem
