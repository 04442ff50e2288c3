// How the kernels of batch normalisation go over a [rows, C] tensor.
//
// A block covers up to 32 packs of channels next to each other and as many rows as 256 threads allow; its
// threads keep their channels, so that per-channel numbers stay in registers. All blocks together sweep the
// tensor tile by tile: what is in flight at one time is one stretch of memory, and the end of a pass is in
// the cache when the next pass, in the other direction, begins.
#pragma once

#include <algorithm>

#include "ops/cuda/batch_norm_kernels.h"
#include "ops/cuda/block_sums.cuh"
#include "ops/cuda/packs.cuh"

namespace tandem::batch_norm {

inline constexpr int kThreads = 256;
inline constexpr int kMostLanes = 32;

// Blocks that a multiprocessor has at once, by registers. Grids are exactly that large: with more, the rest
// would sweep the tensor a second time after the cache has lost it.
template <class T>
inline constexpr int kResidentBlocks = sizeof(T) == 2 ? 3 : 2;
inline constexpr int kResidentOfLarge = 2;  // of kernels with more numbers per channel, of any type

// Rows that a thread has in flight: as many as registers allow, so that some 48 KiB are on their way to each
// multiprocessor.
template <class T, int kOf16Bits>
inline constexpr int kRowsInFlight = sizeof(T) == 2 ? kOf16Bits : (kOf16Bits + 1) / 2;

struct Tiling {
  std::int64_t rows;
  int packs;      // of a row
  int lanes;      // packs of a row that a block covers
  int row_lanes;  // rows that it covers at once
};

inline Tiling tiling_of(const NormShape& shape) {
  const auto packs = static_cast<int>(shape.C / pack_width(shape.C));
  const int slices = (packs + kMostLanes - 1) / kMostLanes;
  const int lanes = (packs + slices - 1) / slices;
  return {shape.rows, packs, lanes, kThreads / lanes};
}

inline int resident_blocks(const NormShape& shape) {
  return shape.dtype == DType::F32 ? kResidentBlocks<float> : kResidentBlocks<__half>;
}

inline dim3 grid_of(const NormShape& shape, const Tiling& tiling, int resident) {
  const int slices = (tiling.packs + tiling.lanes - 1) / tiling.lanes;
  const std::int64_t wanted = static_cast<std::int64_t>(shape.multiprocessors) * resident / slices;
  const std::int64_t most = (shape.rows + tiling.row_lanes - 1) / tiling.row_lanes;
  return dim3(static_cast<unsigned int>(std::clamp<std::int64_t>(wanted, 1, most)),
              static_cast<unsigned int>(slices));
}
inline dim3 grid_of(const NormShape& shape, const Tiling& tiling) {
  return grid_of(shape, tiling, resident_blocks(shape));
}

// Blocks that leave sums of the same channels.
inline int partials_of(const NormShape& shape, int resident) {
  return static_cast<int>(grid_of(shape, tiling_of(shape), resident).x);
}
inline int partials_of(const NormShape& shape) {
  return partials_of(shape, resident_blocks(shape));
}

// Where a thread works.
struct Place {
  int lane, row_lane, pack;
  bool active;

  __device__ explicit Place(const Tiling& tiling) {
    const int thread = static_cast<int>(threadIdx.x);
    lane = thread % tiling.lanes;
    row_lane = thread / tiling.lanes;
    pack = static_cast<int>(blockIdx.y) * tiling.lanes + lane;
    active = row_lane < tiling.row_lanes && pack < tiling.packs;
  }
};

// Calls load(u, index) for kRows packs of the thread's channels, then use(u, index), and so on over all rows.
// Loads of rows behind the last read the last one again instead of branching; nobody uses them.
template <int kRows, bool kReverse, class Load, class Use>
__device__ __forceinline__ void sweep(const Tiling& tiling, const Place& place, Load load, Use use) {
  const int rows_per_tile = tiling.row_lanes * kRows;
  const std::int64_t tiles = (tiling.rows + rows_per_tile - 1) / rows_per_tile;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t first = (kReverse ? tiles - 1 - tile : tile) * rows_per_tile + place.row_lane;
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const std::int64_t row = min(first + u * tiling.row_lanes, tiling.rows - 1);
      load(u, row * tiling.packs + place.pack);
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const std::int64_t row = first + u * tiling.row_lanes;
      if (row < tiling.rows) use(u, row * tiling.packs + place.pack);
    }
  }
}

// Adds up the row lanes of a block and leaves one row of partial sums, [kSums, C].
template <int kSums, int N>
__device__ void leave_partials(const Tiling& tiling, const Place& place, const float (&sums)[kSums][N],
                               float* partial) {
  __shared__ float shared[kThreads * N];
  const int columns = tiling.lanes * N;
  const std::int64_t C = static_cast<std::int64_t>(tiling.packs) * N;
#pragma unroll
  for (int which = 0; which < kSums; ++which) {
    __syncthreads();
    if (place.row_lane < tiling.row_lanes) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        shared[place.row_lane * columns + place.lane * N + j] = sums[which][j];
      }
    }
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x);
    const std::int64_t channel = static_cast<std::int64_t>(blockIdx.y) * columns + column;
    if (column < columns && channel < C) {
      float sum = 0.0f;
      for (int row = 0; row < tiling.row_lanes; ++row) sum += shared[row * columns + column];
      partial[(static_cast<std::int64_t>(blockIdx.x) * kSums + which) * C + channel] = sum;
    }
  }
}

__device__ inline float inverse_deviation_of(const NormAffine& affine, std::int64_t channel) {
  if (affine.mean == nullptr) return 1.0f;
  const float spread = affine.spread[channel];
  if (!affine.is_variance) return spread;
  return static_cast<float>(1.0 / sqrt(static_cast<double>(spread) + static_cast<double>(affine.epsilon)));
}

// z = multiplier * (x - mean) + offset. The mean goes first: folded into the offset it would cost the digits
// by which it exceeds the deviation.
template <int N>
struct Affine {
  float mean[N], multiplier[N], offset[N];

  __device__ Affine(const NormAffine& from, std::int64_t channel) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      mean[j] = from.mean == nullptr ? 0.0f : from.mean[channel + j];
      multiplier[j] = from.scale[channel + j] * inverse_deviation_of(from, channel + j);
      offset[j] = from.bias[channel + j];
    }
  }
  // The same bits wherever it is computed: backward gates by it.
  __device__ float operator()(int j, float x) const {
    return __fmaf_rn(multiplier[j], __fsub_rn(x, mean[j]), offset[j]);
  }
};

template <int N>
__device__ inline void load_means(const NormAffine& affine, std::int64_t channel, float (&mean)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j) mean[j] = affine.mean == nullptr ? 0.0f : affine.mean[channel + j];
}

// dx = multiplier * dz + (factor * (x - mean) + constant).
template <int N>
struct InputGradient {
  float mean[N], multiplier[N], of_x[N], constant[N];

  __device__ InputGradient(const NormAffine& affine, const float* factors, std::int64_t channel,
                           std::int64_t C) {
    load_means(affine, channel, mean);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      multiplier[j] = affine.scale[channel + j] * inverse_deviation_of(affine, channel + j);
      of_x[j] = factors[channel + j];
      constant[j] = factors[C + channel + j];
    }
  }
  __device__ float operator()(int j, float dz, float x) const {
    return multiplier[j] * dz + (of_x[j] * (x - mean[j]) + constant[j]);
  }
};

// A NaN passes, so that nobody trains on past it.
__device__ inline bool passes_relu(float z) {
  return !(z <= 0.0f);
}

template <class F>
cudaError_t with_flag(bool flag, F&& f) {
  return flag ? f(std::true_type{}) : f(std::false_type{});
}

template <class F>
cudaError_t with_type_and_width(const NormShape& shape, F&& f) {
  return with_float_type(shape.dtype, [&](auto type) {
    return with_width(pack_width(shape.C), [&](auto width) { return f(type, width); });
  });
}

inline dim3 finish_grid(const NormShape& shape) {
  return dim3(blocks_for(shape.C, kFinishColumns));
}
inline const dim3 kFinishBlock(kFinishColumns, kFinishLanes);

}  // namespace tandem::batch_norm
