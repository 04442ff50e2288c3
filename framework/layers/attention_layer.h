// Causal multi-head self-attention with its projections.
#pragma once

#include <memory>

#include "layers/linear_layer.h"

namespace tandem {

struct AttentionOptions {
  std::int64_t heads = 1;              // divides the channels
  std::int64_t sequence = 0;           // T: tokens of one sample
  float deviation = 0.02f;             // of the first weights
  float projection_deviation = 0.02f;  // of those that write into the residual stream
};

// x [B*T, C] -> y [B*T, C]. Named as GPT-2's: "c_attn" (queries, keys, values: 3C out) and "c_proj".
class AttentionLayer final : public Layer {
 public:
  explicit AttentionLayer(const AttentionOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  AttentionOptions options_;
  std::unique_ptr<Attention> op_;
  std::unique_ptr<LinearLayer> pack_, project_;
  TensorId qkv_, out_, saved_, forward_workspace_;
  TensorId d_out_, d_qkv_, backward_workspace_;
};

}  // namespace tandem
