#include "layers/mlp.h"

namespace tandem {

Flow Mlp::plan_forward(Planner& plan, Flow x) {
  const Shape in = plan.shape(x.first);
  widen_ = std::make_unique<LinearLayer>(LinearOptions{
      .channels = options_.hidden, .tail = LinearTail::BiasGelu, .deviation = options_.deviation});
  project_ = std::make_unique<LinearLayer>(
      LinearOptions{.channels = in[in.rank() - 1], .deviation = options_.projection_deviation});
  Flow hidden;
  {
    const auto scope = plan.scope("c_fc");
    hidden = widen_->plan_forward(plan, x);
  }
  const auto scope = plan.scope("c_proj");
  return project_->plan_forward(plan, hidden, widen_->before_gelu());
}

Flow Mlp::plan_backward(Planner& plan, Flow dy) {
  Flow d_hidden;
  {
    const auto scope = plan.scope("c_proj");
    d_hidden = project_->plan_backward(plan, dy);
  }
  const auto scope = plan.scope("c_fc");
  return widen_->plan_backward(plan, d_hidden);
}

void Mlp::forward(Context& context) {
  widen_->forward(context);
  project_->forward(context);
}

void Mlp::backward(Context& context) {
  project_->backward(context);
  widen_->backward(context);
}

}  // namespace tandem
