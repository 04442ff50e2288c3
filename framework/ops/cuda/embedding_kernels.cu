#include "ops/cuda/embedding_kernels.h"

#include <bit>
#include <cstdio>
#include <cub/device/device_radix_sort.cuh>

#include "ops/cuda/packs.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;

__device__ inline void stop_at_bad_token(const EmbeddingShape& shape, std::int32_t token, std::int64_t at) {
  printf("tandem: token %d of sequence %lld, position %lld is outside the vocabulary [0, %lld)\n", token,
         static_cast<long long>(at / shape.T), static_cast<long long>(at % shape.T),
         static_cast<long long>(shape.V));
  __trap();
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    embed_pack_per_thread(EmbeddingShape shape, const std::int32_t* tokens, const T* token_table,
                          const T* position_table, T* out) {
  // In 32 bits: a division by 64-bit numbers would cost as much as the memory traffic.
  const auto packs = static_cast<unsigned int>(shape.C / N);
  const unsigned int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= static_cast<unsigned int>(shape.B * shape.T) * packs) return;
  const unsigned int row = i / packs, pack = i % packs;
  const std::int32_t token = tokens[row];
  if (token < 0 || token >= shape.V) stop_at_bad_token(shape, token, row);
  float sum[N], position[N];
  to_floats(load_pack<T, N>(token_table, static_cast<std::int64_t>(token) * packs + pack), sum);
  const unsigned int t = row % static_cast<unsigned int>(shape.T);
  to_floats(load_pack<T, N>(position_table, static_cast<std::int64_t>(t) * packs + pack), position);
#pragma unroll
  for (int j = 0; j < N; ++j) sum[j] += position[j];
  store_pack(out, i, from_floats<T>(sum));
}

__global__ void __launch_bounds__(kThreads)
    number_position_per_thread(EmbeddingShape shape, const std::int32_t* tokens, std::int32_t* numbers) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= shape.B * shape.T) return;
  if (tokens[i] < 0 || tokens[i] >= shape.V) stop_at_bad_token(shape, tokens[i], i);
  numbers[i] = static_cast<std::int32_t>(i);
}

// A block takes each token that begins among kChunk ordered positions, with all its rows, also those behind
// the chunk: 32 packs of columns. A token of few rows has one warp to itself; the rows of a frequent one are
// dealt to all warps, whose sums are added up in their order.
constexpr int kChunk = 64;
constexpr int kPackLanes = 32;
constexpr int kWarps = 8;
constexpr int kFewRows = 32;

template <class T, int N>
__device__ inline void add_rows(const TokenOrder& order, const T* d_out, std::int64_t packs,
                                std::int64_t pack, std::int64_t first, std::int64_t count, int step,
                                float (&sum)[N]) {
  const std::int32_t token = order.tokens[first];
#pragma unroll 4
  for (std::int64_t i = first; i < count && order.tokens[i] == token; i += step) {
    const auto row = load_pack<T, N>(d_out, order.positions[i] * packs + pack);
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] += to_float(row.value[j]);
  }
}

template <class T, int N>
__global__ void __launch_bounds__(kPackLanes* kWarps)
    add_rows_of_tokens_chunk_per_block(EmbeddingShape shape, TokenOrder order, const T* d_out,
                                       GradientOut d_table) {
  __shared__ float of_warp[kWarps][N][kPackLanes];
  const int warp = static_cast<int>(threadIdx.y);
  const std::int64_t count = shape.B * shape.T;
  const std::int64_t packs = shape.C / N;
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.y) * kPackLanes + threadIdx.x;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kChunk;
  const std::int64_t end = min(begin + kChunk, count);
  const auto begins = [&](std::int64_t i) { return i == 0 || order.tokens[i - 1] != order.tokens[i]; };
  const auto is_frequent = [&](std::int64_t i) {
    return i + kFewRows < count && order.tokens[i + kFewRows] == order.tokens[i];
  };
  for (std::int64_t i = begin + warp; i < end; i += kWarps) {
    if (pack >= packs || !begins(i) || is_frequent(i)) continue;
    float sum[N] = {};
    add_rows(order, d_out, packs, pack, i, count, 1, sum);
    put_gradient(d_table, order.tokens[i] * packs + pack, sum);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (!begins(i) || !is_frequent(i)) continue;
    float sum[N] = {};
    if (pack < packs) add_rows(order, d_out, packs, pack, i + warp, count, kWarps, sum);
#pragma unroll
    for (int j = 0; j < N; ++j) of_warp[warp][j][threadIdx.x] = sum[j];
    __syncthreads();
    if (warp == 0 && pack < packs) {
      for (int other = 1; other < kWarps; ++other) {
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += of_warp[other][j][threadIdx.x];
      }
      put_gradient(d_table, order.tokens[i] * packs + pack, sum);
    }
    __syncthreads();
  }
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    add_sequences_pack_per_thread(EmbeddingShape shape, const T* d_out, GradientOut d_table) {
  const std::int64_t packs = shape.T * shape.C / N;  // of one sequence
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  float sum[N] = {};
#pragma unroll 4
  for (std::int64_t b = 0; b < shape.B; ++b) {
    const auto row = load_pack<T, N>(d_out, b * packs + i);
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] += to_float(row.value[j]);
  }
  put_gradient(d_table, i, sum);
}

template <class F>
cudaError_t with_type_and_width(const EmbeddingShape& shape, F&& f) {
  return with_float_type(shape.dtype, [&](auto type) {
    return with_width(pack_width(shape.C), [&](auto width) { return f(type, width); });
  });
}

// `scratch` null asks for the bytes only.
cudaError_t sort_by_token(const EmbeddingShape& shape, const std::int32_t* tokens, const TokenOrder& order,
                          void* scratch, std::size_t& bytes, cudaStream_t stream) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(shape.V));
  return cub::DeviceRadixSort::SortPairs(scratch, bytes, tokens, order.tokens, order.unsorted,
                                         order.positions, static_cast<int>(shape.B * shape.T), 0, bits,
                                         stream);
}

}  // namespace

cudaError_t launch_embedding(const EmbeddingShape& shape, const std::int32_t* tokens, const void* token_table,
                             const void* position_table, void* out, cudaStream_t stream) {
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    const auto blocks = blocks_for(shape.B * shape.T * shape.C / width(), kThreads);
    embed_pack_per_thread<T, width()>
        <<<blocks, kThreads, 0, stream>>>(shape, tokens, static_cast<const T*>(token_table),
                                          static_cast<const T*>(position_table), static_cast<T*>(out));
    return cudaGetLastError();
  });
}

std::size_t token_order_scratch_bytes(const EmbeddingShape& shape) {
  std::size_t bytes = 0;
  const TokenOrder none{};
  return sort_by_token(shape, nullptr, none, nullptr, bytes, nullptr) == cudaSuccess ? bytes : 0;
}

cudaError_t launch_token_order(const EmbeddingShape& shape, const std::int32_t* tokens,
                               const TokenOrder& order, cudaStream_t stream) {
  number_position_per_thread<<<blocks_for(shape.B * shape.T, kThreads), kThreads, 0, stream>>>(
      shape, tokens, order.unsorted);
  if (const auto status = cudaGetLastError(); status != cudaSuccess) return status;
  std::size_t bytes = token_order_scratch_bytes(shape);
  return sort_by_token(shape, tokens, order, order.scratch, bytes, stream);
}

cudaError_t launch_token_gradient(const EmbeddingShape& shape, const TokenOrder& order, const void* d_out,
                                  const GradientOut& d_table, cudaStream_t stream) {
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    const dim3 grid(blocks_for(shape.B * shape.T, kChunk), blocks_for(shape.C / width(), kPackLanes));
    add_rows_of_tokens_chunk_per_block<T, width()>
        <<<grid, dim3(kPackLanes, kWarps), 0, stream>>>(shape, order, static_cast<const T*>(d_out), d_table);
    return cudaGetLastError();
  });
}

cudaError_t launch_position_gradient(const EmbeddingShape& shape, const void* d_out,
                                     const GradientOut& d_table, cudaStream_t stream) {
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    add_sequences_pack_per_thread<T, width()>
        <<<blocks_for(shape.T * shape.C / width(), kThreads), kThreads, 0, stream>>>(
            shape, static_cast<const T*>(d_out), d_table);
    return cudaGetLastError();
  });
}

}  // namespace tandem
