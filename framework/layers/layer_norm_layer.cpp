#include "layers/layer_norm_layer.h"

namespace tandem {

Flow LayerNormLayer::plan_forward(Planner& plan, Flow x) {
  const Shape shape = plan.shape(x.first);
  TANDEM_EXPECT(shape.rank() == 2, "{} takes [rows, C], got {}", plan.path("norm"), shape.to_string());
  const auto channels = shape[1];
  op_ = plan.ops().make_layer_norm({.rows = shape[0], .C = channels, .dtype = plan.compute_dtype()});
  weight_ = plan.parameter({.name = "weight",
                            .canonical = {channels},
                            .stored = {channels},
                            .group = OptimizerGroup::NormAndBias,
                            .initializer = Initializer::constant(1.0f)});
  bias_ = plan.parameter({.name = "bias",
                          .canonical = {channels},
                          .stored = {channels},
                          .group = OptimizerGroup::NormAndBias,
                          .initializer = Initializer::constant(0.0f)});
  x_ = x;
  if (x.is_sum()) sum_ = plan.tensor("stream", shape);
  stream_ = x.is_sum() ? sum_ : x.first;
  y_ = plan.tensor("y", shape);
  saved_ = plan.bytes("saved", op_->saved_bytes());
  plan.op({reads(x.first), reads(x.second), writes(sum_), writes(y_), writes(saved_)});
  return Flow::of(y_);
}

Flow LayerNormLayer::plan_backward(Planner& plan, Flow dy, TensorId d_stream) {
  dy_ = output_gradient_.plan(plan, dy);
  d_stream_ = d_stream;
  dx_ = plan.tensor("dx", plan.shape(stream_));
  workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(dy_), reads(stream_), reads(saved_), reads(d_stream_), writes(dx_), updates(workspace_)});
  plan.gradient(weight_);
  plan.gradient(bias_);
  return x_.needs_gradient ? Flow::of(dx_) : Flow::none();
}

void LayerNormLayer::forward(Context& context) {
  op_->forward(context.stream(), {.x = context.read(x_),
                                  .scale = context.weight(weight_),
                                  .bias = context.weight(bias_),
                                  .sum = context.write(sum_),
                                  .y = context.write(y_),
                                  .saved = context.write(saved_)});
}

void LayerNormLayer::backward(Context& context) {
  output_gradient_.run(context);
  op_->backward(context.stream(), {.dy = context.read(dy_),
                                   .x = context.read(stream_),
                                   .scale = context.weight(weight_),
                                   .saved = context.read(saved_),
                                   .d_residual = context.read(d_stream_),
                                   .dx = context.write(dx_),
                                   .d_scale = context.begin_gradient(weight_),
                                   .d_bias = context.begin_gradient(bias_),
                                   .workspace = context.update(workspace_)});
  context.end_gradient(weight_);
  context.end_gradient(bias_);
}

}  // namespace tandem
