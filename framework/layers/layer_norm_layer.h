// Layer normalisation on a residual stream.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

// x [rows, C] -> y [rows, C]. Parameters "weight" and "bias" [C].
//
// Where x is a sum (the stream and what a branch adds to it), this layer writes the sum too, and whoever
// continues the stream reads it as stream(). Its gradient then comes back as `d_stream`, and the gradient of
// x is the total of both ways.
class LayerNormLayer final : public Layer {
 public:
  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override { return plan_backward(plan, dy, TensorId{}); }
  Flow plan_backward(Planner& plan, Flow dy, TensorId d_stream);
  void forward(Context& context) override;
  void backward(Context& context) override;

  TensorId stream() const { return stream_; }  // [rows, C]: what is normalised

 private:
  std::unique_ptr<LayerNorm> op_;
  SingleTensor output_gradient_;
  ParamId weight_, bias_;
  Flow x_;
  TensorId stream_, sum_, y_, saved_;
  TensorId dy_, d_stream_, dx_, workspace_;
};

}  // namespace tandem
