// Dropout as a layer.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

struct DropoutOptions {
  float probability = 0.0f;
  std::uint64_t seed = 0;
  std::int64_t rows_per_sample = 1;  // T where x is [B*T, C]
};

// x [samples * rows per sample, ...], overwritten by y: the layer before must not need its output again.
// Evaluation changes nothing. Probability 0 plans nothing.
//
// The gradient is written to memory of its own: that of a sum belongs to both addends, and only one of them
// went through here.
class DropoutLayer final : public Layer {
 public:
  explicit DropoutLayer(const DropoutOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  DropoutOptions options_;
  std::unique_ptr<Dropout> op_;  // null where nothing is dropped
  SingleTensor input_, output_gradient_;
  Shape by_sample_;  // [samples, elements per sample]
  bool needs_gradient_ = true;
  TensorId x_, positions_, dy_, dx_;
};

}  // namespace tandem
