#include "layers/sequential.h"

#include <ranges>

namespace tandem {

Flow Sequential::plan_forward(Planner& plan, Flow x) {
  for (const auto& child : children_) {
    const auto scope = plan.scope(child.name);
    x = child.layer->plan_forward(plan, x);
  }
  return x;
}

Flow Sequential::plan_backward(Planner& plan, Flow dy) {
  for (const auto& child : children_ | std::views::reverse) {
    const auto scope = plan.scope(child.name);
    dy = child.layer->plan_backward(plan, dy);
  }
  return dy;
}

void Sequential::forward(Context& context) {
  for (const auto& child : children_) child.layer->forward(context);
}

void Sequential::backward(Context& context) {
  for (const auto& child : children_ | std::views::reverse) child.layer->backward(context);
}

}  // namespace tandem
