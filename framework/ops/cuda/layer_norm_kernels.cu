// A row belongs to a warp, or to a whole block where it is wide; a thread holds up to kPacks packs of it. A
// block takes rows in turn, the grid strides over all of them, and each thread keeps its columns: so the sums
// over rows for scale and bias stay in registers until the block has seen all its rows.
//
// Those sums leave the gradient's threads few registers, hence few warps, to have loads in flight with. So it
// reads through a ring of rows in shared memory, filled ahead by copies that hold no registers.
#include "ops/cuda/layer_norm_kernels.h"

#include <algorithm>

#include "ops/cuda/block_sums.cuh"
#include "ops/cuda/packs.cuh"
#include "ops/cuda/shared_memory.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;
constexpr int kForwardBlocks = 8;  // per multiprocessor

// The same for the gradient: as many as the sums over rows leave registers for.
template <int kPacks>
inline constexpr int kBackwardBlocks = kPacks == 1 ? 4 : 2;

// What the rings of all blocks of a multiprocessor take together: an H100 has 228 KiB. Where there is less,
// fewer blocks share one.
constexpr int kRingsBytes = 192 * 1024;

// kThreadsPerRow: 32 or kThreads.
template <int kThreadsPerRow>
struct RowPlace {
  static constexpr int kRowsPerBlock = kThreads / kThreadsPerRow;
  int lane, row_lane;

  __device__ RowPlace() {
    lane = static_cast<int>(threadIdx.x) % kThreadsPerRow;
    row_lane = static_cast<int>(threadIdx.x) / kThreadsPerRow;
  }
  __device__ std::int64_t first_row() const {
    return static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + row_lane;
  }
  __device__ std::int64_t row_step() const { return static_cast<std::int64_t>(gridDim.x) * kRowsPerBlock; }
};

template <int kThreadsPerRow>
__device__ inline float sum_of_row(float value) {
  if constexpr (kThreadsPerRow == 32) {
    return combine_in_warp(value, Plus{});
  } else {
    return combine_in_block(value, Plus{});
  }
}

// Two sums for the barriers of one.
template <int kThreadsPerRow>
__device__ inline float2 sums_of_row(float first, float second) {
  const float2 of_warp{combine_in_warp(first, Plus{}), combine_in_warp(second, Plus{})};
  if constexpr (kThreadsPerRow == 32) {
    return of_warp;
  } else {
    return combine_warps(of_warp, PlusEach{});
  }
}

template <class T, int N, int kThreadsPerRow, int kPacks>
__global__ void __launch_bounds__(kThreads)
    normalize_row_in_registers(LayerNormShape shape, LayerNormForwardPass pass) {
  const RowPlace<kThreadsPerRow> place;
  const int packs = static_cast<int>(shape.C) / N;
  const float inverse_C = 1.0f / static_cast<float>(shape.C);
  for (std::int64_t row = place.first_row(); row < shape.rows; row += place.row_step()) {
    const std::int64_t first = row * packs;
    float x[kPacks][N];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int pack = k * kThreadsPerRow + place.lane;
      if (pack >= packs) continue;
      auto held = load_pack_once<T, N>(static_cast<const T*>(pass.first), first + pack);
      to_floats(held, x[k]);
      if (pass.second != nullptr) {
        float second[N];
        to_floats(load_pack_once<T, N>(static_cast<const T*>(pass.second), first + pack), second);
#pragma unroll
        for (int j = 0; j < N; ++j) x[k][j] += second[j];
        // What is normalised is the sum as it was stored: backward reads that.
        held = from_floats<T>(x[k]);
        store_pack(static_cast<T*>(pass.sum), first + pack, held);
        to_floats(held, x[k]);
      }
#pragma unroll
      for (int j = 0; j < N; ++j) sum += x[k][j];
    }
    const float mean = sum_of_row<kThreadsPerRow>(sum) * inverse_C;
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (k * kThreadsPerRow + place.lane >= packs) continue;
#pragma unroll
      for (int j = 0; j < N; ++j) squares += (x[k][j] - mean) * (x[k][j] - mean);
    }
    const float variance = sum_of_row<kThreadsPerRow>(squares) * inverse_C;
    const float inverse_deviation = 1.0f / sqrtf(variance + shape.epsilon);
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int pack = k * kThreadsPerRow + place.lane;
      if (pack >= packs) continue;
      const auto scale = load_pack<float, N>(pass.scale, pack);
      const auto bias = load_pack<float, N>(pass.bias, pack);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        x[k][j] = (x[k][j] - mean) * inverse_deviation * scale.value[j] + bias.value[j];
      }
      store_pack(static_cast<T*>(pass.y), first + pack, from_floats<T>(x[k]));
    }
    if (place.lane == 0) *reinterpret_cast<float2*>(pass.saved + 2 * row) = {mean, inverse_deviation};
  }
}

// Adds up the rows of a block in their order; leaves one row of partial sums. `shared` holds a row of fp32.
template <int N, int kThreadsPerRow, int kPacks>
__device__ void leave_partials(const RowPlace<kThreadsPerRow>& place, const float (&sums)[kPacks][N],
                               int packs, float* shared, float* partial) {
  constexpr int kRowLanes = RowPlace<kThreadsPerRow>::kRowsPerBlock;
  for (int turn = 0; turn < kRowLanes; ++turn) {
    __syncthreads();
    if (place.row_lane != turn) continue;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        // A thread meets only its own columns, laid out so that a warp meets all banks.
        float& total = shared[(k * N + j) * kThreadsPerRow + place.lane];
        total = turn == 0 ? sums[k][j] : total + sums[k][j];
      }
    }
    if (turn != kRowLanes - 1) continue;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int pack = k * kThreadsPerRow + place.lane;
      if (pack >= packs) continue;
      float total[N];
#pragma unroll
      for (int j = 0; j < N; ++j) total[j] = shared[(k * N + j) * kThreadsPerRow + place.lane];
      store_pack(partial, pack, from_floats<float>(total));
    }
  }
}

// What the gradient reads, some rows ahead. A thread copies and reads only its own packs, so that nobody
// waits for others.
template <class T, int N, int kPacks>
struct RowRing {
  enum Which { kDy, kX, kResidual, kTensors };
  static constexpr int kSlotBytes = kTensors * kPacks * kThreads * static_cast<int>(sizeof(Pack<T, N>));
  static constexpr int kSlots = std::clamp(kRingsBytes / kBackwardBlocks<kPacks> / kSlotBytes, 1, 4);
  static constexpr int kBytes = kSlots * kSlotBytes;

  Pack<T, N>* packs;

  __device__ Pack<T, N>& at(int slot, Which which, int k) const {
    return packs[((slot * kTensors + which) * kPacks + k) * kThreads + static_cast<int>(threadIdx.x)];
  }
};

// Closes a group even where no row is left: waiting counts groups.
template <class T, int N, int kThreadsPerRow, int kPacks>
__device__ inline void request_row(const RowRing<T, N, kPacks>& ring, const RowPlace<kThreadsPerRow>& place,
                                   const LayerNormShape& shape, const LayerNormBackwardPass& pass,
                                   std::int64_t row, int slot) {
  using Ring = RowRing<T, N, kPacks>;
  const int packs = static_cast<int>(shape.C) / N;
#pragma unroll
  for (int k = 0; k < kPacks && row < shape.rows; ++k) {
    const int pack = k * kThreadsPerRow + place.lane;
    if (pack >= packs) continue;
    const std::int64_t at = row * packs + pack;
    copy_pack_async(&ring.at(slot, Ring::kDy, k), static_cast<const T*>(pass.dy), at);
    copy_pack_async(&ring.at(slot, Ring::kX, k), static_cast<const T*>(pass.x), at);
    if (pass.d_residual == nullptr) continue;
    copy_pack_async(&ring.at(slot, Ring::kResidual, k), static_cast<const T*>(pass.d_residual), at);
  }
  __pipeline_commit();
}

// With n = (x - mean) / deviation and g = dy * scale:
//   dx = (g - mean(g) - n * mean(g n)) / deviation
template <class T, int N, int kThreadsPerRow, int kPacks>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks<kPacks>)
    gradient_row_in_registers(LayerNormShape shape, LayerNormBackwardPass pass) {
  using Ring = RowRing<T, N, kPacks>;
  extern __shared__ uint4 shared_memory[];
  const Ring ring{reinterpret_cast<Pack<T, N>*>(shared_memory)};
  const RowPlace<kThreadsPerRow> place;
  const int packs = static_cast<int>(shape.C) / N;
  const float inverse_C = 1.0f / static_cast<float>(shape.C);
  float d_scale[kPacks][N] = {}, d_bias[kPacks][N] = {};
  const std::int64_t step = place.row_step();
  std::int64_t row = place.first_row();
  constexpr int kAhead = Ring::kSlots - 1;
  for (int slot = 0; slot < kAhead; ++slot) request_row(ring, place, shape, pass, row + slot * step, slot);
  const auto saved_of = [&](std::int64_t of_row) {
    return of_row < shape.rows ? *reinterpret_cast<const float2*>(pass.saved + 2 * of_row) : float2{};
  };
  float2 next_saved = saved_of(row);
  for (int slot = 0; row < shape.rows; row += step, slot = slot + 1 < Ring::kSlots ? slot + 1 : 0) {
    // The slot that the row before this one has left.
    request_row(ring, place, shape, pass, row + kAhead * step, slot >= 1 ? slot - 1 : kAhead);
    const float mean = next_saved.x, inverse_deviation = next_saved.y;
    next_saved = saved_of(row + step);
    __pipeline_wait_prior(kAhead);
    float sum = 0.0f, projection = 0.0f;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int pack = k * kThreadsPerRow + place.lane;
      if (pack >= packs) continue;
      const auto scale = load_pack<float, N>(pass.scale, pack);
      float x[N], dy[N];
      to_floats(load_pack(ring.at(slot, Ring::kX, k)), x);
      to_floats(load_pack(ring.at(slot, Ring::kDy, k)), dy);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        // Differences first, then the deviation: the other way around, rows whose values hardly differ would
        // be left with the rounding of what should vanish; so would a product contracted with its difference.
        const float normalised = (x[j] - mean) * inverse_deviation;
        const float gradient = dy[j] * scale.value[j];
        d_scale[k][j] += dy[j] * normalised;
        d_bias[k][j] += dy[j];
        sum += gradient;
        projection += gradient * normalised;
      }
    }
    const float2 sums = sums_of_row<kThreadsPerRow>(sum, projection);
    const float level = sums.x * inverse_C;
    const float along = sums.y * inverse_C;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int pack = k * kThreadsPerRow + place.lane;
      if (pack >= packs) continue;
      const auto scale = load_pack<float, N>(pass.scale, pack);
      float x[N], dy[N], dx[N] = {};
      to_floats(load_pack(ring.at(slot, Ring::kX, k)), x);
      to_floats(load_pack(ring.at(slot, Ring::kDy, k)), dy);
      if (pass.d_residual != nullptr) to_floats(load_pack(ring.at(slot, Ring::kResidual, k)), dx);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const float normalised = (x[j] - mean) * inverse_deviation;
        const float beside_mean = __fmul_rn(dy[j], scale.value[j]) - level;
        dx[j] = fmaf(fmaf(-normalised, along, beside_mean), inverse_deviation, dx[j]);
      }
      store_pack(static_cast<T*>(pass.dx), row * packs + pack, from_floats<T>(dx));
    }
  }
  __pipeline_wait_prior(0);
  auto* sums = reinterpret_cast<float*>(shared_memory);
  float* partial = pass.partial_sums + static_cast<std::int64_t>(blockIdx.x) * 2 * shape.C;
  leave_partials<N, kThreadsPerRow, kPacks>(place, d_scale, packs, sums, partial);
  leave_partials<N, kThreadsPerRow, kPacks>(place, d_bias, packs, sums, partial + shape.C);
}

__global__ void finish_gradients_column_per_column(LayerNormBackwardPass pass, std::int64_t C, int partials) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kFinishColumns + threadIdx.x;
  const bool inside = column < C;
  const double d_scale = sum_partials(pass.partial_sums, partials, 2 * C, column, inside);
  const double d_bias = sum_partials(pass.partial_sums, partials, 2 * C, C + column, inside);
  if (!inside || threadIdx.y != 0) return;
  put_gradient(pass.d_scale, column, static_cast<float>(d_scale));
  put_gradient(pass.d_bias, column, static_cast<float>(d_bias));
}

template <int kThreadsPerRow_, int kPacks_>
struct RowLayout {
  static constexpr int kThreadsPerRow = kThreadsPerRow_;
  static constexpr int kPacks = kPacks_;
};

constexpr int kMostPacksOfWarp = 4 * 32;
constexpr int kMostPacks = 4 * kThreads;

// Calls f(RowLayout) with the least that holds a row.
template <class F>
cudaError_t with_layout(std::int64_t packs, F&& f) {
  if (packs <= 32) return f(RowLayout<32, 1>{});
  if (packs <= 96) return f(RowLayout<32, 3>{});
  if (packs <= kMostPacksOfWarp) return f(RowLayout<32, 4>{});
  if (packs <= kThreads) return f(RowLayout<kThreads, 1>{});
  if (packs <= kMostPacks) return f(RowLayout<kThreads, 4>{});
  return cudaErrorInvalidValue;
}

template <class F>
cudaError_t with_type_width_and_layout(const LayerNormShape& shape, F&& f) {
  return with_float_type(shape.dtype, [&](auto type) {
    return with_width(pack_width(shape.C), [&](auto width) {
      return with_layout(shape.C / width(), [&](auto layout) { return f(type, width, layout); });
    });
  });
}

int blocks_of(const LayerNormShape& shape, int threads_per_row, int blocks_per_multiprocessor) {
  const int rows_per_block = kThreads / threads_per_row;
  return static_cast<int>(
      std::min<std::int64_t>((shape.rows + rows_per_block - 1) / rows_per_block,
                             static_cast<std::int64_t>(shape.multiprocessors) * blocks_per_multiprocessor));
}

}  // namespace

bool layer_norm_fits(const LayerNormShape& shape) {
  return shape.C / pack_width(shape.C) <= kMostPacks;
}

cudaError_t launch_layer_norm_forward(const LayerNormShape& shape, const LayerNormForwardPass& pass,
                                      cudaStream_t stream) {
  return with_type_width_and_layout(shape, [&](auto type, auto width, auto layout) {
    using T = decltype(type);
    using Layout = decltype(layout);
    const int blocks = blocks_of(shape, Layout::kThreadsPerRow, kForwardBlocks);
    normalize_row_in_registers<T, width(), Layout::kThreadsPerRow, Layout::kPacks>
        <<<static_cast<unsigned int>(blocks), kThreads, 0, stream>>>(shape, pass);
    return cudaGetLastError();
  });
}

std::int64_t layer_norm_partial_floats(const LayerNormShape& shape) {
  int blocks = 0;
  with_layout(shape.C / pack_width(shape.C), [&](auto layout) {
    using Layout = decltype(layout);
    blocks = blocks_of(shape, Layout::kThreadsPerRow, kBackwardBlocks<Layout::kPacks>);
    return cudaSuccess;
  });
  return static_cast<std::int64_t>(blocks) * 2 * shape.C;
}

cudaError_t prepare_layer_norm_backward(const LayerNormShape& shape) {
  return with_type_width_and_layout(shape, [&](auto type, auto width, auto layout) {
    using T = decltype(type);
    using Layout = decltype(layout);
    return allow_shared_memory(gradient_row_in_registers<T, width(), Layout::kThreadsPerRow, Layout::kPacks>,
                               RowRing<T, width(), Layout::kPacks>::kBytes);
  });
}

cudaError_t launch_layer_norm_backward(const LayerNormShape& shape, const LayerNormBackwardPass& pass,
                                       cudaStream_t stream) {
  return with_type_width_and_layout(shape, [&](auto type, auto width, auto layout) {
    using T = decltype(type);
    using Layout = decltype(layout);
    const int blocks = blocks_of(shape, Layout::kThreadsPerRow, kBackwardBlocks<Layout::kPacks>);
    gradient_row_in_registers<T, width(), Layout::kThreadsPerRow, Layout::kPacks>
        <<<static_cast<unsigned int>(blocks), kThreads, RowRing<T, width(), Layout::kPacks>::kBytes,
           stream>>>(shape, pass);
    finish_gradients_column_per_column<<<blocks_for(shape.C, kFinishColumns),
                                         dim3(kFinishColumns, kFinishLanes), 0, stream>>>(pass, shape.C,
                                                                                          blocks);
    return cudaGetLastError();
  });
}

}  // namespace tandem
