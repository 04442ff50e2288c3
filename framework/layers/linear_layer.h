// A matrix product with an optional bias and GELU behind it.
#pragma once

#include <memory>
#include <optional>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

struct LinearOptions {
  std::int64_t channels = 0;  // out
  LinearTail tail = LinearTail::Bias;
  // Standard deviation of the first weights, whose bias is then zero. None: both uniform within 1/sqrt(in),
  // as PyTorch's linear layer.
  std::optional<float> deviation;
};

// x [rows, in] -> y [rows, out]. Parameters "weight" [out, in] and "bias" [out].
//
// The backward pass of a GELU is done by the layer behind it, which alone can do it without a pass of its
// own: the output of a BiasGelu must go to a linear layer that is planned with before_gelu() as its
// `z_of_input`, and the gradient that comes back is then the one before GELU.
class LinearLayer final : public Layer {
 public:
  explicit LinearLayer(const LinearOptions& options) : options_(options) {}

  // Before planning: uses a parameter [out, in] that another layer declares (a tied head), and has no
  // "weight".
  void share_weight(ParamId weight) { weight_ = weight; }

  Flow plan_forward(Planner& plan, Flow x) override { return plan_forward(plan, x, TensorId{}); }
  Flow plan_forward(Planner& plan, Flow x, TensorId z_of_input);
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

  TensorId before_gelu() const { return z_; }  // [rows, out]; valid once planned with the tail BiasGelu

 private:
  bool has_bias() const { return options_.tail != LinearTail::None; }
  void declare_parameters(Planner& plan, std::int64_t in);

  LinearOptions options_;
  std::unique_ptr<Linear> op_;
  SingleTensor input_, output_gradient_;
  ParamId weight_, bias_;
  bool needs_gradient_ = true;
  TensorId x_, z_of_input_, y_, z_, forward_workspace_;
  TensorId dy_, dx_, backward_workspace_;
};

}  // namespace tandem
