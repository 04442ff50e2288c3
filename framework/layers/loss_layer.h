// Softmax cross-entropy as the last layer.
#pragma once

#include <memory>

#include "layers/layer.h"

namespace tandem {

struct LossOptions {
  std::int64_t classes = 0;  // <= the logits' last axis; the rest is padding
  float label_smoothing = 0.0f;
};

// Logits [rows, stride] and targets [rows] i32. Training turns the logits into their gradient in place, so
// plan_backward returns the same tensor. Loss, hits and counts go to the step's results.
class LossLayer final {
 public:
  explicit LossLayer(const LossOptions& options) : options_(options) {}

  void plan_forward(Planner& plan, Flow logits, TensorId targets);
  Flow plan_backward(Planner& plan);
  void forward(Context& context);

 private:
  LossOptions options_;
  std::unique_ptr<SoftmaxCrossEntropy> op_;
  TensorId logits_, targets_, workspace_;
};

}  // namespace tandem
