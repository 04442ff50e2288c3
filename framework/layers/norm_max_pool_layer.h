// Batch normalisation, ReLU and the maximum of 3x3 windows with stride 2 in one layer.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/norm_parameters.h"
#include "layers/single_tensor.h"

namespace tandem {

struct NormMaxPoolOptions {
  NormStatistics statistics = NormStatistics::Batch;
};

// x [N,H,W,C] -> y [N,P,Q,C]. Parameters as NormLayer's.
class NormMaxPoolLayer final : public Layer {
 public:
  explicit NormMaxPoolLayer(const NormMaxPoolOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  NormMaxPoolOptions options_;
  std::unique_ptr<NormMaxPool> op_;
  SingleTensor input_;
  NormParameters parameters_;
  bool needs_gradient_ = true;
  Flow dy_;
  TensorId x_, y_, saved_, forward_workspace_, dx_, backward_workspace_;
};

}  // namespace tandem
