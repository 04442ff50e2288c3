// Batch normalisation with an optional ReLU, or addition and ReLU, behind it.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/norm_parameters.h"
#include "layers/single_tensor.h"

namespace tandem {

struct NormOptions {
  NormStatistics statistics = NormStatistics::Batch;
  NormTail tail = NormTail::None;
  bool zero_scale = false;  // a residual block that ends here starts as the identity (Goyal et al. 2017, 5.1)
};

// x [..., C] -> y of the same shape. Parameters "weight" and "bias" [C], buffers "running_mean" and
// "running_var" [C]; NormStatistics::Identity has no buffers.
class NormLayer final : public Layer {
 public:
  explicit NormLayer(const NormOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override { return plan_forward(plan, x, TensorId{}); }
  // `residual` has the shape of x; valid exactly if the tail is AddRelu.
  Flow plan_forward(Planner& plan, Flow x, TensorId residual);
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

  // The gradient of the residual, once plan_backward was called.
  TensorId d_residual() const { return d_residual_; }

 private:
  TensorView as_matrix(TensorView view) const;

  NormOptions options_;
  std::unique_ptr<BatchNorm> op_;
  SingleTensor input_;
  NormParameters parameters_;
  bool needs_gradient_ = true;
  Shape matrix_;  // [rows, C]: what the op sees
  Flow dy_;
  TensorId x_, residual_, y_, saved_, forward_workspace_;
  TensorId dx_, d_residual_, backward_workspace_;
};

}  // namespace tandem
