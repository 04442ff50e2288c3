// The kernels of batch normalisation, ReLU and the maximum of 3x3 windows with stride 2 and padding 1.
//
// Launchers enqueue on `stream` and return what the launch returned. Bound by memory: x is four times y, and
// every pass reads it once. Statistics are those of batch_norm_kernels.h. No atomics: each element of dx
// gathers from the windows that cover it, in their order.
#pragma once

#include "ops/cuda/batch_norm_kernels.h"

namespace tandem {

struct NormMaxPoolShape {
  int N, H, W, C, P, Q;
  DType dtype;
  int multiprocessors;

  // x as the statistics see it.
  NormShape matrix() const { return {static_cast<std::int64_t>(N) * H * W, C, dtype, multiprocessors}; }
  // The outputs. Each belongs to a patch of 2 x 2 pixels, [2 p, 2 p + 1] x [2 q, 2 q + 1], which lies in its
  // window and those of its neighbours below and to the right only.
  NormShape patches() const { return {static_cast<std::int64_t>(N) * P * Q, C, dtype, multiprocessors}; }
};

// A byte for each output: which of the nine won, or that ReLU let none of them through.
std::int64_t norm_max_pool_winner_bytes(const NormMaxPoolShape& shape);
// Floats of the sums that launch_norm_max_pool_reduce() leaves.
std::int64_t norm_max_pool_partial_floats(const NormMaxPoolShape& shape);

// Reads x, writes y and the winners. `winners` may be null.
struct NormMaxPoolApplyPass {
  const void* x;
  NormAffine affine;
  void* y;
  std::uint8_t* winners;
};
cudaError_t launch_norm_max_pool_apply(const NormMaxPoolShape& shape, const NormMaxPoolApplyPass& pass,
                                       cudaStream_t stream);

// Sums for d_scale and d_bias, in reverse, and the factors that the next pass needs. Reads dy, the winners,
// x.
struct NormMaxPoolReducePass {
  const void *dy, *dy_second;  // the second may be null
  const std::uint8_t* winners;
  const void* x;
  NormAffine affine;
  bool batch_statistics;
  float* partial_sums;
  float* factors;  // [2, C]
  GradientOut d_scale, d_bias;
};
cudaError_t launch_norm_max_pool_reduce(const NormMaxPoolShape& shape, const NormMaxPoolReducePass& pass,
                                        cudaStream_t stream);

// Reads dy, the winners and x, writes dx.
struct NormMaxPoolInputGradientPass {
  const void *dy, *dy_second;
  const std::uint8_t* winners;
  const void* x;
  NormAffine affine;
  const float* factors;
  void* dx;
};
cudaError_t launch_norm_max_pool_input_gradient(const NormMaxPoolShape& shape,
                                                const NormMaxPoolInputGradientPass& pass,
                                                cudaStream_t stream);

}  // namespace tandem
