#include "layers/norm_max_pool_layer.h"

namespace tandem {

Flow NormMaxPoolLayer::plan_forward(Planner& plan, Flow x) {
  const Shape in = plan.shape(x.first);
  TANDEM_EXPECT(in.rank() == 4, "{} takes [N, H, W, C], got {}", plan.path("norm"), in.to_string());
  const NormMaxPoolSpec spec{.N = in[0],
                             .H = in[1],
                             .W = in[2],
                             .C = in[3],
                             .dtype = plan.compute_dtype(),
                             .statistics = options_.statistics};
  parameters_.declare(plan, spec.norm(), false);
  op_ = plan.ops().make_norm_max_pool(spec);
  x_ = input_.plan(plan, x);
  needs_gradient_ = x.needs_gradient;
  y_ = plan.tensor("y", {spec.N, spec.pool().P(), spec.pool().Q(), spec.C});
  saved_ = plan.bytes("saved", op_->saved_bytes());
  forward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(x_), writes(y_), writes(saved_), updates(forward_workspace_)});
  return Flow::of(y_);
}

Flow NormMaxPoolLayer::plan_backward(Planner& plan, Flow dy) {
  dy_ = dy;
  dx_ = plan.tensor("dx", plan.shape(x_));
  backward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(dy_.first), reads(dy_.second), reads(x_), reads(saved_), writes(dx_),
           updates(backward_workspace_)});
  parameters_.plan_gradients(plan);
  return needs_gradient_ ? Flow::of(dx_) : Flow::none();
}

void NormMaxPoolLayer::forward(Context& context) {
  input_.run(context);
  const NormMaxPool::Forward tensors{.x = context.read(x_),
                                     .y = context.write(y_),
                                     .saved = context.write(saved_),
                                     .workspace = context.update(forward_workspace_)};
  if (context.training()) {
    op_->forward_train(context.stream(), parameters_.views(context), tensors);
  } else {
    op_->forward_evaluate(context.stream(), parameters_.views(context), tensors);
  }
}

void NormMaxPoolLayer::backward(Context& context) {
  op_->backward(context.stream(), parameters_.views(context),
                {.dy = context.read(dy_),
                 .x = context.read(x_),
                 .saved = context.read(saved_),
                 .dx = context.write(dx_),
                 .d_scale = parameters_.begin_scale(context),
                 .d_bias = parameters_.begin_bias(context),
                 .workspace = context.update(backward_workspace_)});
  parameters_.end_gradients(context);
}

}  // namespace tandem
