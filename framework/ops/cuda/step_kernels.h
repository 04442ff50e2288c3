// The kernels around a step: the norm of all gradients, and the bookkeeping of the training state.
//
// Launchers enqueue on `stream` and return what the launch returned.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "ops/cuda/linear_kernels.h"
#include "ops/step_state.h"

namespace tandem {

// Sets gradient_norm, clip_factor and finite. Reads the gradients once, bound by memory; squares and sums in
// double, in which no square of an fp32 value overflows: the sum is finite exactly if all gradients are.
// Two stages in a fixed order.
struct GradientNormPass {
  ConstFloats gradients;
  std::int64_t elements;
  double clip_norm, clip_epsilon;  // clip_norm 0: no clipping
  int blocks;                      // of the first stage, gradient_norm_blocks()
  double* partial_sums;            // [blocks]
  TrainingState* training;
};
int gradient_norm_blocks(std::int64_t elements, int multiprocessors);
cudaError_t launch_gradient_norm(const GradientNormPass& pass, cudaStream_t stream);

cudaError_t launch_clear_results(StepResults* results, cudaStream_t stream);

// What a dynamic loss scale moves by. `steps_until_doubled` 0: the scale stays.
struct LossScaleRule {
  std::int32_t steps_until_doubled;
  float smallest, largest;
};
cudaError_t launch_end_step(TrainingState* training, StepResults* results, const LossScaleRule& rule,
                            cudaStream_t stream);

}  // namespace tandem
