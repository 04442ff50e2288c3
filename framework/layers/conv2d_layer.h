// Convolution without bias.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

struct Conv2dOptions {
  std::int64_t channels = 0;  // K: out
  std::int64_t kernel = 1;    // R = S
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  // C of the image whose padded blocks x holds: a convolution of an odd kernel and stride 2 runs as one with
  // stride 1 over them (params/blocked_filter.h). 0: x is the image itself.
  std::int64_t channels_in_blocks = 0;
};

// x [N,H,W,C] -> y [N,P,Q,K]. Parameter "weight" [K,C,R,S], He-normal over the fan out (He et al. 2015, eq.
// 14).
class Conv2dLayer final : public Layer {
 public:
  explicit Conv2dLayer(const Conv2dOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  Conv2dSpec spec_of(Planner& plan, Flow x) const;
  ParamId declare_weight(Planner& plan, const Conv2dSpec& spec);
  std::int64_t multiply_adds_of(const Conv2dSpec& spec) const;

  Conv2dOptions options_;
  std::unique_ptr<Conv2d> op_;
  BlockedFilter blocked_;              // where x holds blocks
  std::unique_ptr<Elementwise> zero_;  // keeps its padding zero; else null
  SingleTensor input_, output_gradient_;
  ParamId weight_;
  std::int64_t multiply_adds_ = 0;  // of one pass
  bool needs_gradient_ = true;
  TensorId x_, y_, dy_, dx_, forward_workspace_, backward_workspace_;
};

}  // namespace tandem
