// The loss of classifiers: softmax and cross-entropy in one pass, with label smoothing and an ignore index.
#pragma once

#include <cstdint>

#include "core/targets.h"
#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/step_state.h"

namespace tandem {

// Logits [rows, stride] of which the first `classes` columns count; the others are padding with zero
// gradient.
//   loss = -(1 - s) log p[target] - s / classes * sum over classes of log p
struct SoftmaxCrossEntropySpec {
  std::int64_t rows = 0, classes = 0, stride = 0;
  DType dtype = DType::F32;
  float label_smoothing = 0.0f;  // s
};

class SoftmaxCrossEntropy {
 public:
  virtual ~SoftmaxCrossEntropy() = default;
  virtual ByteCount workspace_bytes() const = 0;

  // logits [rows, stride]; targets [rows] i32.
  // Adds the loss, the hits and the valid rows to results, in row order. Rows whose target is kIgnoredTarget
  // count nowhere. A target outside [0, classes) is an error that names it. `train`: the logits are replaced
  // by the gradient of
  //   loss_scale * sum of losses / inputs->valid_targets;
  // this is the one place where the sum over ranks and micro-batches becomes an average.
  virtual void train(Stream& stream, TensorView logits, TensorView targets, StepPointers step,
                     TensorView workspace) = 0;
  virtual void evaluate(Stream& stream, TensorView logits, TensorView targets, StepPointers step,
                        TensorView workspace) = 0;
};

}  // namespace tandem
