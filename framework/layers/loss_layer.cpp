#include "layers/loss_layer.h"

namespace tandem {

void LossLayer::plan_forward(Planner& plan, Flow logits, TensorId targets) {
  const Shape shape = plan.shape(logits.first);
  TANDEM_EXPECT(shape.rank() == 2 && !logits.is_sum() && shape[0] == plan.shape(targets)[0],
                "the loss takes logits [rows, classes] and targets [rows], got {} and {}", shape.to_string(),
                plan.shape(targets).to_string());
  op_ = plan.ops().make_softmax_cross_entropy({.rows = shape[0],
                                               .classes = options_.classes,
                                               .stride = shape[1],
                                               .dtype = plan.compute_dtype(),
                                               .label_smoothing = options_.label_smoothing});
  logits_ = logits.first;
  targets_ = targets;
  workspace_ = plan.bytes("loss.workspace", op_->workspace_bytes());
  plan.op({updates(logits_), reads(targets_), updates(workspace_)});
}

Flow LossLayer::plan_backward(Planner&) {
  return Flow::of(logits_);
}

void LossLayer::forward(Context& context) {
  const auto logits = context.update(logits_);
  const auto targets = context.read(targets_);
  const auto workspace = context.update(workspace_);
  if (context.training()) {
    op_->train(context.stream(), logits, targets, context.step(), workspace);
  } else {
    op_->evaluate(context.stream(), logits, targets, context.step(), workspace);
  }
}

}  // namespace tandem
