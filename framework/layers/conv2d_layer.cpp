#include "layers/conv2d_layer.h"

#include <cmath>

namespace tandem {

Conv2dSpec Conv2dLayer::spec_of(Planner& plan, Flow x) const {
  const Shape in = plan.shape(x.first);
  TANDEM_EXPECT(in.rank() == 4, "{} takes [N, H, W, C], got {}", plan.path("conv"), in.to_string());
  Conv2dSpec spec{.N = in[0],
                  .H = in[1],
                  .W = in[2],
                  .C = in[3],
                  .K = options_.channels,
                  .R = options_.kernel,
                  .S = options_.kernel,
                  .stride = options_.stride,
                  .padding = options_.padding,
                  .dtype = plan.compute_dtype(),
                  .input_gradient = x.needs_gradient};
  if (options_.channels_in_blocks == 0) return spec;
  TANDEM_EXPECT(options_.stride == BlockedFilter::kBlock && options_.kernel % 2 == 1,
                "{}: blocks go with stride 2 and an odd kernel, not with {} and {}", plan.path("conv"),
                options_.stride, options_.kernel);
  spec.R = spec.S = BlockedFilter::blocks(options_.kernel);
  spec.stride = 1;
  spec.padding = 0;
  return spec;
}

ParamId Conv2dLayer::declare_weight(Planner& plan, const Conv2dSpec& spec) {
  const bool in_blocks = options_.channels_in_blocks > 0;
  const auto kernel = options_.kernel;
  const auto channels = in_blocks ? options_.channels_in_blocks : spec.C;
  if (in_blocks) {
    blocked_ = {.K = spec.K, .C = channels, .R = kernel, .S = kernel, .stored_channels = spec.C};
    zero_ = plan.ops().make_elementwise();
  }
  const auto fan_out = static_cast<float>(spec.K * kernel * kernel);
  return plan.parameter({.name = "weight",
                         .canonical = {spec.K, channels, kernel, kernel},
                         .stored = {spec.K, spec.R, spec.S, spec.C},
                         .packing = in_blocks ? Packing::SpaceToDepth : Packing::Krsc,
                         .initializer = Initializer::normal(std::sqrt(2.0f / fan_out))});
}

// As of the original filter where it is stored in blocks, whose padding is no work of the model.
std::int64_t Conv2dLayer::multiply_adds_of(const Conv2dSpec& spec) const {
  const auto kernel = options_.kernel;
  const auto channels = options_.channels_in_blocks > 0 ? options_.channels_in_blocks : spec.C;
  return spec.N * spec.P() * spec.Q() * spec.K * kernel * kernel * channels;
}

Flow Conv2dLayer::plan_forward(Planner& plan, Flow x) {
  const auto spec = spec_of(plan, x);
  op_ = plan.ops().make_conv2d(spec);
  weight_ = declare_weight(plan, spec);
  x_ = input_.plan(plan, x);
  needs_gradient_ = x.needs_gradient;
  y_ = plan.tensor("y", {spec.N, spec.P(), spec.Q(), spec.K});
  forward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(x_), writes(y_), updates(forward_workspace_)});
  multiply_adds_ = multiply_adds_of(spec);
  plan.multiply_adds(multiply_adds_);
  return Flow::of(y_);
}

// The weight gradient goes first: its all-reduce can start while the data gradient is still computed.
Flow Conv2dLayer::plan_backward(Planner& plan, Flow dy) {
  dy_ = output_gradient_.plan(plan, dy);
  backward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(x_), reads(dy_), updates(backward_workspace_)});
  plan.multiply_adds(multiply_adds_);
  plan.gradient(weight_);
  if (!needs_gradient_) return Flow::none();
  dx_ = plan.tensor("dx", plan.shape(x_));
  plan.op({reads(dy_), writes(dx_), updates(backward_workspace_)});
  plan.multiply_adds(multiply_adds_);
  return Flow::of(dx_);
}

void Conv2dLayer::forward(Context& context) {
  input_.run(context);
  op_->forward(context.stream(), context.read(x_), context.weight(weight_), context.write(y_),
               context.update(forward_workspace_));
}

void Conv2dLayer::backward(Context& context) {
  output_gradient_.run(context);
  const auto gradient = context.begin_gradient(weight_);
  op_->backward_weight(context.stream(), context.read(x_), context.read(dy_), gradient,
                       context.update(backward_workspace_));
  if (zero_) zero_->zero_padding(context.stream(), blocked_, gradient.view);
  context.end_gradient(weight_);
  if (!dx_.valid()) return;
  op_->backward_input(context.stream(), context.read(dy_), context.weight(weight_), context.write(dx_),
                      context.update(backward_workspace_));
}

}  // namespace tandem
