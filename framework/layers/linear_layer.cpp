#include "layers/linear_layer.h"

#include <cmath>

namespace tandem {

void LinearLayer::declare_parameters(Planner& plan, std::int64_t in) {
  const auto uniform = Initializer::uniform(1.0f / std::sqrt(static_cast<float>(in)));
  const auto out = options_.channels;
  if (weight_.index < 0) {
    weight_ = plan.parameter(
        {.name = "weight",
         .canonical = {out, in},
         .stored = {out, in},
         .initializer = options_.deviation ? Initializer::normal(*options_.deviation) : uniform});
  }
  if (has_bias()) {
    bias_ = plan.parameter({.name = "bias",
                            .canonical = {out},
                            .stored = {out},
                            .group = OptimizerGroup::NormAndBias,
                            .initializer = options_.deviation ? Initializer::constant(0.0f) : uniform});
  }
}

Flow LinearLayer::plan_forward(Planner& plan, Flow x, TensorId z_of_input) {
  const Shape in = plan.shape(x.first);
  TANDEM_EXPECT(in.rank() == 2, "{} takes [rows, channels], got {}", plan.path("linear"), in.to_string());
  const auto out = options_.channels;
  op_ = plan.ops().make_linear({.rows = in[0],
                                .in = in[1],
                                .out = out,
                                .dtype = plan.compute_dtype(),
                                .tail = options_.tail,
                                .input_is_gelu = z_of_input.valid()});
  declare_parameters(plan, in[1]);
  x_ = input_.plan(plan, x);
  z_of_input_ = z_of_input;
  needs_gradient_ = x.needs_gradient;
  y_ = plan.tensor("y", {in[0], out});
  if (options_.tail == LinearTail::BiasGelu) z_ = plan.tensor("before_gelu", {in[0], out});
  forward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(x_), writes(y_), writes(z_), updates(forward_workspace_)});
  plan.multiply_adds(in[0] * in[1] * out);
  return Flow::of(y_);
}

// Gradients of parameters go first: their all-reduce can start while the data gradient is still computed.
Flow LinearLayer::plan_backward(Planner& plan, Flow dy) {
  dy_ = output_gradient_.plan(plan, dy);
  backward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  const Shape in = plan.shape(x_);
  const auto multiply_adds = in[0] * in[1] * options_.channels;
  plan.op({reads(x_), reads(dy_), updates(backward_workspace_)});
  plan.multiply_adds(multiply_adds);
  plan.gradient(weight_);
  if (has_bias()) {
    plan.op({reads(dy_), updates(backward_workspace_)});
    plan.gradient(bias_);
  }
  if (!needs_gradient_) return Flow::none();
  dx_ = plan.tensor("dx", in);
  plan.op({reads(dy_), reads(z_of_input_), writes(dx_), updates(backward_workspace_)});
  plan.multiply_adds(multiply_adds);
  return Flow::of(dx_);
}

void LinearLayer::forward(Context& context) {
  input_.run(context);
  op_->forward(context.stream(), {.x = context.read(x_),
                                  .w = context.weight(weight_),
                                  .bias = has_bias() ? context.weight(bias_) : TensorView(),
                                  .y = context.write(y_),
                                  .z = context.write(z_),
                                  .workspace = context.update(forward_workspace_)});
}

void LinearLayer::backward(Context& context) {
  output_gradient_.run(context);
  auto& stream = context.stream();
  const auto d_weight = context.begin_gradient(weight_);
  op_->backward_weight(stream, context.read(x_), context.read(dy_), d_weight,
                       context.update(backward_workspace_));
  context.end_gradient(weight_);
  if (has_bias()) {
    const auto d_bias = context.begin_gradient(bias_);
    op_->backward_bias(stream, context.read(dy_), d_bias, context.update(backward_workspace_));
    context.end_gradient(bias_);
  }
  if (!dx_.valid()) return;
  op_->backward_input(stream, context.read(dy_), context.weight(weight_), context.write(dx_),
                      context.read(z_of_input_), context.update(backward_workspace_));
}

}  // namespace tandem
