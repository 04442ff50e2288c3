// Optimizer steps and the gradient norm over flat ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/step_state.h"

namespace tandem {

// The treatment of one stretch of the flat arrays. Segments are ascending and do not overlap; what lies
// between is padding, which no update changes.
struct UpdateSegment {
  std::int64_t begin = 0, end = 0;  // elements, in the whole array
  float weight_decay = 0.0f;
};

// One stretch of all arrays. `first` is where it begins in the whole array, in elements.
struct UpdateRange {
  std::int64_t first = 0;
  TensorView master;    // [n] fp32
  TensorView working;   // [n] 16-bit, rewritten from master; empty where there is none
  TensorView gradient;  // [n], summed over ranks, carrying loss_scale
  TensorView state[2];  // [n] fp32: momentum; or first and second moment
};

// Each reads g = gradient / loss_scale * clip_factor and, when training->finite is 0, changes nothing.
class OptimizerUpdate {
 public:
  virtual ~OptimizerUpdate() = default;
  virtual int states() const = 0;
  virtual void step(Stream& stream, const UpdateRange& range, StepPointers pointers) = 0;
};

// PyTorch's SGD: d = g + decay * w;  m = momentum * m + d, m from 0;
//   w -= lr * (nesterov ? d + momentum * m : m)
struct SgdSpec {
  float momentum = 0.0f;
  bool nesterov = false;
  std::vector<UpdateSegment> segments = {};
};

// Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2, as in PyTorch:
//   w -= lr * decay * w;  m, v moments;  w -= lr * (m / c1) / (sqrt(v / c2) + epsilon), c = 1 - beta^t, t
//   from 1
struct AdamWSpec {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  std::vector<UpdateSegment> segments = {};
};

// What to do with the norm of all reduced gradients. PyTorch's clip_grad_norm_:
//   clip_factor = min(1, clip_norm / (norm + kClipEpsilon)), norm of gradients / loss_scale
struct GradientNormSpec {
  std::int64_t elements = 0;
  float clip_norm = 0.0f;  // 0: no clipping
};
inline constexpr double kClipEpsilon = 1e-6;

class GradientNorm {
 public:
  virtual ~GradientNorm() = default;
  virtual ByteCount workspace_bytes() const = 0;
  // Sets gradient_norm, clip_factor and finite from `gradients` [elements], in a fixed order of sums. Where
  // one is inf or nan, finite is 0, gradient_norm is inf or nan, and clip_factor 1.
  virtual void measure(Stream& stream, TensorView gradients, StepPointers pointers, TensorView workspace) = 0;
};

// A dynamic loss scale moves by factors of two within these bounds: below, gradients that overflow do so for
// other reasons than the scale; above, there is nothing left to lift out of fp16's subnormals.
inline constexpr std::int32_t kStepsUntilLossScaleDoubles = 2000;
inline constexpr float kSmallestLossScale = 1.0f;
inline constexpr float kLargestLossScale = 16777216.0f;

// The bookkeeping around a step, on the device.
class StepBookkeeping {
 public:
  virtual ~StepBookkeeping() = default;
  virtual void begin(Stream& stream, StepPointers pointers) = 0;  // clears results
  // After the update: counts it as applied or skipped, moves a dynamic loss scale (halved on overflow,
  // doubled after kStepsUntilLossScaleDoubles good steps in a row), copies to results.
  virtual void end(Stream& stream, StepPointers pointers) = 0;
};

}  // namespace tandem
