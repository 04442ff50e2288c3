#include "models/model.h"

#include <utility>

namespace tandem {

Model::Model(ModelInput input, std::unique_ptr<Layer> body, std::unique_ptr<LossLayer> loss)
    : input_(input), body_(std::move(body)), loss_(std::move(loss)) {}

void Model::plan(Planner& plan) {
  batch_ = plan.external("batch", input_.shape, input_.dtype);
  targets_ = plan.external("targets", {input_.targets}, DType::I32);
  const auto logits = body_->plan_forward(plan, {.first = batch_, .second = {}, .needs_gradient = false});
  loss_->plan_forward(plan, logits, targets_);
  plan.begin_backward();
  body_->plan_backward(plan, loss_->plan_backward(plan));
  positions_ = plan.positions();
}

void Model::forward(Context& context) {
  body_->forward(context);
  loss_->forward(context);
}

void Model::backward(Context& context) {
  body_->backward(context);
}

}  // namespace tandem
