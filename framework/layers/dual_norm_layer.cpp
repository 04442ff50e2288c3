#include "layers/dual_norm_layer.h"

namespace tandem {

Flow DualNormLayer::plan_forward(Planner& plan, TensorId x, TensorId shortcut) {
  const Shape shape = plan.shape(x);
  TANDEM_EXPECT(shape.rank() >= 2 && plan.shape(shortcut) == shape,
                "{} takes [..., C] and a shortcut of its shape, got {} and {}", plan.path("norm"),
                shape.to_string(), plan.shape(shortcut).to_string());
  const auto channels = shape[shape.rank() - 1];
  matrix_ = {shape.elements().value() / channels, channels};
  const BatchNormSpec spec{.rows = matrix_[0],
                           .C = channels,
                           .dtype = plan.compute_dtype(),
                           .statistics = options_.statistics,
                           .tail = NormTail::AddRelu};
  x_ = {x, shortcut};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto scope = plan.scope(options_.names[i]);
    parameters_[i].declare(plan, spec, i == 0 && options_.zero_scale);
  }
  op_ = plan.ops().make_dual_batch_norm(spec);
  y_ = plan.tensor("y", shape);
  saved_ = plan.bytes("saved", op_->saved_bytes());
  forward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(x_[0]), reads(x_[1]), writes(y_), writes(saved_), updates(forward_workspace_)});
  return Flow::of(y_);
}

std::array<TensorId, 2> DualNormLayer::plan_backward(Planner& plan, Flow dy) {
  dy_ = dy;
  for (auto& dx : dx_) dx = plan.tensor("dx", plan.shape(x_[0]));
  backward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(dy_.first), reads(dy_.second), reads(x_[0]), reads(x_[1]), reads(saved_), writes(dx_[0]),
           writes(dx_[1]), updates(backward_workspace_)});
  for (const auto& parameters : parameters_) parameters.plan_gradients(plan);
  return dx_;
}

DualBatchNorm::Branches DualNormLayer::branches(Context& context) const {
  return {{{as_matrix(context.read(x_[0])), parameters_[0].views(context)},
           {as_matrix(context.read(x_[1])), parameters_[1].views(context)}}};
}

void DualNormLayer::forward(Context& context) {
  const auto inputs = branches(context);
  const auto y = as_matrix(context.write(y_));
  const auto saved = context.write(saved_);
  const auto workspace = context.update(forward_workspace_);
  if (context.training()) {
    op_->forward_train(context.stream(), inputs, y, saved, workspace);
  } else {
    op_->forward_evaluate(context.stream(), inputs, y, workspace);
  }
}

void DualNormLayer::backward(Context& context) {
  const auto dy = context.read(dy_);
  DualBatchNorm::Backward tensors{.dy = {as_matrix(dy.first), as_matrix(dy.second)},
                                  .saved = context.read(saved_),
                                  .branches = {},
                                  .workspace = context.update(backward_workspace_)};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    tensors.branches[i] = {.dx = as_matrix(context.write(dx_[i])),
                           .d_scale = parameters_[i].begin_scale(context),
                           .d_bias = parameters_[i].begin_bias(context)};
  }
  op_->backward(context.stream(), branches(context), tensors);
  for (const auto& parameters : parameters_) parameters.end_gradients(context);
}

}  // namespace tandem
