// Everything that changes from step to step, in device memory.
//
// Kernels get pointers to these structs and never such a value as an argument: a step that was recorded once
// (a CUDA graph) therefore stays right when it is replayed.
#pragma once

#include <cstdint>

namespace tandem {

// One per slot: what the host knows before the step and uploads with the batch.
struct StepInputs {
  std::int64_t step = 0;       // counts attempted steps from 0
  float learning_rate = 0.0f;  // of this step, after schedule and scaling
  float valid_targets = 1.0f;  // targets that count, summed over ranks and micro-batches of this step
};

// One per run: what only the device knows, carried from step to step.
struct TrainingState {
  std::int64_t applied_steps =
      0;                       // updates really made: skipped steps do not count (AdamW's bias correction)
  float loss_scale = 1.0f;     // multiplies the loss before backward; divided out in the update
  float gradient_norm = 0.0f;  // L2, of the reduced and unscaled gradients; gated updates only
  float clip_factor = 1.0f;    // multiplies gradients in the update
  std::int32_t finite = 1;     // 0: a reduced gradient was inf or nan, the update is skipped
  std::int32_t steps_since_skip = 0;  // dynamic loss scaling
  std::int32_t skipped_steps = 0;
};

// One per slot: what the step found out; copied back to the host with the fence.
struct StepResults {
  double loss_sum = 0.0;           // over this rank's valid targets, unscaled
  std::int64_t correct = 0;        // targets whose largest logit is theirs
  std::int64_t valid_targets = 0;  // of this rank
  float gradient_norm = 0.0f;      // copied from TrainingState at the end of the step
  float loss_scale = 1.0f;         // likewise
  std::int32_t finite = 1;         // likewise
  std::int32_t skipped_steps = 0;  // likewise
};

struct StepPointers {
  const StepInputs* inputs = nullptr;
  TrainingState* training = nullptr;
  StepResults* results = nullptr;
};

}  // namespace tandem
