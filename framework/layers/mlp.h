// The feed-forward part of a transformer block.
#pragma once

#include "layers/linear_layer.h"

namespace tandem {

struct MlpOptions {
  std::int64_t hidden = 0;
  float deviation = 0.02f;             // of the first weights
  float projection_deviation = 0.02f;  // of those that write into the residual stream
};

// x [rows, C] -> linear to `hidden`, GELU, linear back to C. Named as GPT-2's: "c_fc" and "c_proj".
class Mlp final : public Layer {
 public:
  explicit Mlp(const MlpOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  MlpOptions options_;
  std::unique_ptr<LinearLayer> widen_, project_;
};

}  // namespace tandem
