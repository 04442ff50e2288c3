// The kernels of batch normalisation over [rows, C].
//
// Launchers enqueue on `stream` and return what the launch returned. All passes are bound by memory; the
// bytes each moves are given in tensors of rows * C elements. Sums are of two stages in a fixed order,
// without atomics: the same bits every time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "ops/cuda/linear_kernels.h"

namespace tandem {

struct NormShape {
  std::int64_t rows, C;
  DType dtype;
  int multiprocessors;  // grids are sized for so many
};

// What normalises. `mean` null: mean 0, deviation 1. `spread` is 1/deviation or, with `is_variance`, the
// variance, to which epsilon is added.
struct NormAffine {
  const float* mean;
  const float* spread;
  bool is_variance;
  float epsilon;
  const float* scale;
  const float* bias;
};

// Bytes of the mask of an add + ReLU: a bit for each element where C allows whole packs, else a byte.
std::int64_t norm_mask_bytes(const NormShape& shape);

// Floats of the sums that a first stage leaves for the second.
std::int64_t norm_partial_floats(const NormShape& shape);

// The batch's mean and 1/deviation, and what the running ones become. Reads x once, in reverse: what was
// written last is still in the cache, and the pass that follows begins where this one ends.
struct NormStatisticsPass {
  const void* x;
  float* partial_sums;
  float epsilon, momentum;
  float *mean, *inverse_deviation;
  float *running_mean, *running_variance;
};
cudaError_t launch_norm_statistics(const NormShape& shape, const NormStatisticsPass& pass,
                                   cudaStream_t stream);

// y = tail(affine(x) [+ residual]). Reads x and residual, writes y. `mask` may be null; without a residual
// backward finds the mask again from x.
struct NormApplyPass {
  const void *x, *residual;
  NormAffine affine;
  bool relu;
  void* y;
  std::uint8_t* mask;
};
cudaError_t launch_norm_apply(const NormShape& shape, const NormApplyPass& pass, cudaStream_t stream);

// Sums for d_scale and d_bias, in reverse, and the factors that the apply pass needs. Reads dy, x; with a
// mask it also writes the gated gradient to `d_residual`.
struct NormReducePass {
  const void *dy, *dy_second;  // the second may be null
  const void* x;
  NormAffine affine;
  bool relu;                 // gated by x, unless there is a mask
  const std::uint8_t* mask;  // of add + ReLU; else null
  void* d_residual;          // where there is a mask
  bool batch_statistics;     // which depend on x
  float* partial_sums;
  float* factors;  // [2, C]
  GradientOut d_scale, d_bias;
};
cudaError_t launch_norm_reduce(const NormShape& shape, const NormReducePass& pass, cudaStream_t stream);

// The second stage of such sums, of `partials` blocks, each of which left [sums, C]: the first is of dz,
// number `scale_sum` of dz * (x - mean). launch_norm_reduce() ends with it.
struct NormFinish {
  const float* partial_sums;
  int partials;
  int sums, scale_sum;
  NormAffine affine;
  bool batch_statistics;
  float* factors;  // [2, C]
  GradientOut d_scale, d_bias;
};
cudaError_t launch_norm_finish(const NormShape& shape, const NormFinish& finish, cudaStream_t stream);

// dx = multiplier * dz + (factor * (x - mean) + constant), dz = dy gated by ReLU. Reads dy and x, writes dx,
// which may be the memory of dy.
struct NormInputGradientPass {
  const void *dy, *dy_second;
  const void* x;
  NormAffine affine;
  bool relu;
  const float* factors;
  void* dx;
};
cudaError_t launch_norm_input_gradient(const NormShape& shape, const NormInputGradientPass& pass,
                                       cudaStream_t stream);

}  // namespace tandem
