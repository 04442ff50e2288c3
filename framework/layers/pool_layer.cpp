#include "layers/pool_layer.h"

namespace tandem {

Flow PoolLayer::plan_forward(Planner& plan, Flow x) {
  const Shape in = plan.shape(x.first);
  TANDEM_EXPECT(in.rank() == 4, "{} takes [N, H, W, C], got {}", plan.path("pool"), in.to_string());
  const auto whole = options_.global;
  const PoolSpec spec{.N = in[0],
                      .H = in[1],
                      .W = in[2],
                      .C = in[3],
                      .window_h = whole ? in[1] : options_.window,
                      .window_w = whole ? in[2] : options_.window,
                      .stride = whole ? 1 : options_.stride,
                      .padding = whole ? 0 : options_.padding,
                      .kind = options_.kind,
                      .dtype = plan.compute_dtype()};
  op_ = plan.ops().make_pool(spec);
  x_ = input_.plan(plan, x);
  needs_gradient_ = x.needs_gradient;
  output_ = {spec.N, spec.P(), spec.Q(), spec.C};
  y_ = plan.tensor("y", output_);
  saved_ = plan.bytes("saved", op_->saved_bytes());
  plan.op({reads(x_), writes(y_), writes(saved_)});
  return Flow::of(whole ? plan.reshaped(y_, {spec.N, spec.C}) : y_);
}

Flow PoolLayer::plan_backward(Planner& plan, Flow dy) {
  if (!needs_gradient_) return Flow::none();
  dy_ = dy;
  dx_ = plan.tensor("dx", plan.shape(x_));
  plan.op({reads(dy_.first), reads(dy_.second), reads(saved_), writes(dx_)});
  return Flow::of(dx_);
}

void PoolLayer::forward(Context& context) {
  input_.run(context);
  op_->forward(context.stream(), context.read(x_), context.write(y_), context.write(saved_));
}

void PoolLayer::backward(Context& context) {
  if (!dx_.valid()) return;
  auto dy = context.read(dy_);
  dy.first = dy.first.reshaped(output_);
  if (!dy.second.empty()) dy.second = dy.second.reshaped(output_);
  op_->backward(context.stream(), dy, context.read(saved_), context.write(dx_));
}

}  // namespace tandem
