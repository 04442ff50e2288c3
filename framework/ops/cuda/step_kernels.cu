#include "ops/cuda/step_kernels.h"

#include <algorithm>

#include "ops/cuda/block_sums.cuh"
#include "ops/cuda/packs.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 8;  // per multiprocessor

// The grid strides over the array; a thread sums what it meets.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    sum_squares_packs_per_thread(const T* gradients, std::int64_t packs, double* partial) {
  double sum = 0.0;
#pragma unroll 4
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < packs;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const auto pack = load_pack<T, N>(gradients, i);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const auto value = static_cast<double>(to_float(pack.value[j]));
      sum += value * value;
    }
  }
  sum = combine_in_block(sum, Plus{});
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) finish_norm(GradientNormPass pass) {
  double squares = 0.0;
  for (int i = static_cast<int>(threadIdx.x); i < pass.blocks; i += kThreads) squares += pass.partial_sums[i];
  squares = combine_in_block(squares, Plus{});
  if (threadIdx.x != 0) return;
  TrainingState& training = *pass.training;
  const double norm = sqrt(squares) / static_cast<double>(training.loss_scale);
  training.finite = isfinite(squares) ? 1 : 0;
  training.gradient_norm = static_cast<float>(norm);
  training.clip_factor = 1.0f;
  if (training.finite != 0 && pass.clip_norm > 0.0) {
    training.clip_factor = static_cast<float>(fmin(1.0, pass.clip_norm / (norm + pass.clip_epsilon)));
  }
}

__global__ void clear_results(StepResults* results) {
  *results = StepResults{};
}

__global__ void end_step(TrainingState* state, StepResults* results, LossScaleRule rule) {
  TrainingState training = *state;
  const bool dynamic = rule.steps_until_doubled > 0;
  if (training.finite != 0) {
    ++training.applied_steps;
    ++training.steps_since_skip;
    if (dynamic && training.steps_since_skip == rule.steps_until_doubled) {
      training.loss_scale = fminf(training.loss_scale * 2.0f, rule.largest);
      training.steps_since_skip = 0;
    }
  } else {
    ++training.skipped_steps;
    training.steps_since_skip = 0;
    if (dynamic) training.loss_scale = fmaxf(training.loss_scale / 2.0f, rule.smallest);
  }
  *state = training;
  results->gradient_norm = training.gradient_norm;
  results->loss_scale = training.loss_scale;
  results->finite = training.finite;
  results->skipped_steps = training.skipped_steps;
}

}  // namespace

int gradient_norm_blocks(std::int64_t elements, int multiprocessors) {
  constexpr std::int64_t kLeast = static_cast<std::int64_t>(kThreads) * kPackWidth;  // elements of a block
  return static_cast<int>(
      std::clamp<std::int64_t>(elements / kLeast, 1, static_cast<std::int64_t>(multiprocessors) * kBlocks));
}

cudaError_t launch_gradient_norm(const GradientNormPass& pass, cudaStream_t stream) {
  return with_float_type(pass.gradients.dtype, [&](auto type) {
    using T = decltype(type);
    const bool whole = aligned(pass.gradients.data, sizeof(T) * kPackWidth);
    return with_width(whole ? pack_width(pass.elements) : 1, [&](auto width) {
      sum_squares_packs_per_thread<T, width()>
          <<<static_cast<unsigned int>(pass.blocks), kThreads, 0, stream>>>(
              static_cast<const T*>(pass.gradients.data), pass.elements / width(), pass.partial_sums);
      finish_norm<<<1, kThreads, 0, stream>>>(pass);
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_clear_results(StepResults* results, cudaStream_t stream) {
  clear_results<<<1, 1, 0, stream>>>(results);
  return cudaGetLastError();
}

cudaError_t launch_end_step(TrainingState* training, StepResults* results, const LossScaleRule& rule,
                            cudaStream_t stream) {
  end_step<<<1, 1, 0, stream>>>(training, results, rule);
  return cudaGetLastError();
}

}  // namespace tandem
