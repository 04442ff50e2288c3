// The kernels of two batch normalisations whose sum passes ReLU.
//
// Launchers enqueue on `stream` and return what the launch returned. All passes are bound by memory; their
// bytes are given in tensors of rows * C elements. Statistics are those of batch_norm_kernels.h, one pass for
// each branch, and so is the second stage of the sums.
#pragma once

#include "ops/cuda/batch_norm_kernels.h"

namespace tandem {

inline constexpr int kBranches = 2;

// Floats of the sums that launch_dual_norm_reduce() leaves: of dz, then of dz * (x - mean) of each branch.
inline constexpr int kDualNormSums = 1 + kBranches;
std::int64_t dual_norm_partial_floats(const NormShape& shape);

// y = relu(affine0(x0) + affine1(x1)). Reads both x, writes y. `mask` may be null.
struct DualNormApplyPass {
  const void* x[kBranches];
  NormAffine affine[kBranches];
  void* y;
  std::uint8_t* mask;
};
cudaError_t launch_dual_norm_apply(const NormShape& shape, const DualNormApplyPass& pass,
                                   cudaStream_t stream);

// The sums, and from them each branch's factors and gradients. Reads dy and both x, in reverse.
struct DualNormReducePass {
  const void *dy, *dy_second;  // the second may be null
  const void* x[kBranches];
  NormAffine affine[kBranches];
  const std::uint8_t* mask;
  bool batch_statistics;
  float* partial_sums;
  float* factors[kBranches];  // [2, C] each
  GradientOut d_scale[kBranches], d_bias[kBranches];
};
cudaError_t launch_dual_norm_reduce(const NormShape& shape, const DualNormReducePass& pass,
                                    cudaStream_t stream);

// Both input gradients. Reads dy and both x, writes both dx, the first of which may be the memory of dy.
struct DualNormInputGradientPass {
  const void *dy, *dy_second;
  const void* x[kBranches];
  NormAffine affine[kBranches];
  const std::uint8_t* mask;
  const float* factors[kBranches];
  void* dx[kBranches];
};
cudaError_t launch_dual_norm_input_gradient(const NormShape& shape, const DualNormInputGradientPass& pass,
                                            cudaStream_t stream);

}  // namespace tandem
