// The kernels of layer normalisation over [rows, C].
//
// Launchers enqueue on `stream` and return what the launch returned. Bound by memory: a row stays on
// chip, so every tensor is read or written once. Sums over rows are of two stages in a
// fixed order, without atomics.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "ops/cuda/linear_kernels.h"

namespace tandem {

struct LayerNormShape {
  std::int64_t rows, C;
  float epsilon;
  DType dtype;
  int multiprocessors;  // grids are sized for so many
};

// Whether the registers of a block hold a row.
bool layer_norm_fits(const LayerNormShape& shape);

// `second` and `sum` may be null, together. `saved`: mean and 1/deviation of each row.
struct LayerNormForwardPass {
  const void *first, *second;
  const float *scale, *bias;
  void *sum, *y;
  float* saved;
};
cudaError_t launch_layer_norm_forward(const LayerNormShape& shape, const LayerNormForwardPass& pass,
                                      cudaStream_t stream);

// dx = gradient through the norm [+ d_residual, which may be null]; dx may be the memory of dy or d_residual.
// `partial_sums` holds layer_norm_partial_floats() fp32.
std::int64_t layer_norm_partial_floats(const LayerNormShape& shape);
struct LayerNormBackwardPass {
  const void *dy, *x, *d_residual;
  const float *scale, *saved;
  void* dx;
  float* partial_sums;
  GradientOut d_scale, d_bias;
};
// Lets the kernel have as much shared memory as it asks for. Once, before the first launch.
cudaError_t prepare_layer_norm_backward(const LayerNormShape& shape);
cudaError_t launch_layer_norm_backward(const LayerNormShape& shape, const LayerNormBackwardPass& pass,
                                       cudaStream_t stream);

}  // namespace tandem
