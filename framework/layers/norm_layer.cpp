#include "layers/norm_layer.h"

namespace tandem {

Flow NormLayer::plan_forward(Planner& plan, Flow x, TensorId residual) {
  const Shape shape = plan.shape(x.first);
  TANDEM_EXPECT(shape.rank() >= 2, "{} takes [..., C], got {}", plan.path("norm"), shape.to_string());
  TANDEM_EXPECT(residual.valid() == (options_.tail == NormTail::AddRelu),
                "{}: a residual goes with the tail AddRelu, and only with it", plan.path("norm"));
  const auto channels = shape[shape.rank() - 1];
  matrix_ = {shape.elements().value() / channels, channels};
  const BatchNormSpec spec{.rows = matrix_[0],
                           .C = channels,
                           .dtype = plan.compute_dtype(),
                           .statistics = options_.statistics,
                           .tail = options_.tail};
  parameters_.declare(plan, spec, options_.zero_scale);
  op_ = plan.ops().make_batch_norm(spec);
  x_ = input_.plan(plan, x);
  needs_gradient_ = x.needs_gradient;
  residual_ = residual;
  y_ = plan.tensor("y", shape);
  saved_ = plan.bytes("saved", op_->saved_bytes());
  forward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(x_), reads(residual_), writes(y_), writes(saved_), updates(forward_workspace_)});
  return Flow::of(y_);
}

Flow NormLayer::plan_backward(Planner& plan, Flow dy) {
  dy_ = dy;
  dx_ = plan.tensor("dx", plan.shape(x_));
  if (residual_.valid()) d_residual_ = plan.tensor("d_residual", plan.shape(x_));
  backward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(dy_.first), reads(dy_.second), reads(x_), reads(saved_), writes(dx_), writes(d_residual_),
           updates(backward_workspace_)});
  parameters_.plan_gradients(plan);
  return needs_gradient_ ? Flow::of(dx_) : Flow::none();
}

TensorView NormLayer::as_matrix(TensorView view) const {
  return view.empty() ? view : view.reshaped(matrix_);
}

// Evaluation needs neither what backward reads nor scratch, yet takes them: both modes follow one plan.
void NormLayer::forward(Context& context) {
  input_.run(context);
  const auto x = as_matrix(context.read(x_));
  const auto residual = as_matrix(context.read(residual_));
  const auto y = as_matrix(context.write(y_));
  const auto saved = context.write(saved_);
  const auto workspace = context.update(forward_workspace_);
  if (context.training()) {
    op_->forward_train(context.stream(), x, residual, parameters_.views(context), y, saved, workspace);
  } else {
    op_->forward_evaluate(context.stream(), x, residual, parameters_.views(context), y);
  }
}

void NormLayer::backward(Context& context) {
  const auto dy = context.read(dy_);
  op_->backward(context.stream(), parameters_.views(context),
                {.dy = {as_matrix(dy.first), as_matrix(dy.second)},
                 .x = as_matrix(context.read(x_)),
                 .saved = context.read(saved_),
                 .dx = as_matrix(context.write(dx_)),
                 .d_residual = as_matrix(context.write(d_residual_)),
                 .d_scale = parameters_.begin_scale(context),
                 .d_bias = parameters_.begin_bias(context),
                 .workspace = context.update(backward_workspace_)});
  parameters_.end_gradients(context);
}

}  // namespace tandem
