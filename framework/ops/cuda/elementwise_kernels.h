// The kernels of small element-wise passes: sums, dropout, images.
//
// Launchers enqueue on `stream` and return what the launch returned. Each element is read once and written
// once; all but dropout are bound by memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "ops/cuda/linear_kernels.h"
#include "params/blocked_filter.h"

namespace tandem {

// y = first + second, all of y's dtype; y may be either.
cudaError_t launch_add(const void* first, const void* second, Floats y, std::int64_t count,
                       cudaStream_t stream);

// In place on x [samples, elements_per_sample]. Ten rounds of Philox for four elements weigh about as much as
// the memory traffic of 16-bit ones.
struct DropoutShape {
  std::int64_t samples, elements_per_sample;
  DType dtype;
  float probability;
  std::uint64_t seed;
  std::uint32_t layer;
};
cudaError_t launch_dropout(const DropoutShape& shape, void* x, const std::int64_t* positions,
                           cudaStream_t stream);

// u8 [N, H, W, C] -> [N, stored_rows, stored_columns, stored], where a stored pixel is one of the padded
// image or holds a block of four, as BlockedFilter says. Everything else is zero.
struct ImageShape {
  std::int64_t N;
  int H, W;
  int stored_rows, stored_columns;
  int padding;
  bool in_blocks;
  int C, stored;
  DType dtype;
  float mean[4], deviation[4];
  int multiprocessors;  // the grid is sized for so many
};
cudaError_t launch_image_normalize(const ImageShape& shape, const std::uint8_t* images, void* y,
                                   cudaStream_t stream);

// Zeroes what is no weight in `gradient` of shape filter.stored().
cudaError_t launch_zero_padding(const BlockedFilter& filter, Floats gradient, cudaStream_t stream);

}  // namespace tandem
