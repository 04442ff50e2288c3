#include "layers/recomputed.h"

#include "device/named_range.h"

namespace tandem {

Flow Recomputed::plan_forward(Planner& plan, Flow x) {
  x.first = input_.plan(plan, x);
  x.second = {};
  first_op_ = plan.ops_announced();
  const auto y = block_->plan_forward(plan, x);
  end_op_ = plan.ops_announced();
  return y;
}

Flow Recomputed::plan_backward(Planner& plan, Flow dy) {
  plan.repeat(first_op_, end_op_);
  range_ = "recompute " + plan.path();
  return block_->plan_backward(plan, dy);
}

void Recomputed::forward(Context& context) {
  input_.run(context);
  block_->forward(context);
}

void Recomputed::backward(Context& context) {
  {
    const NamedRange range(range_.c_str());
    context.begin_recompute();
    block_->forward(context);
    context.end_recompute();
  }
  block_->backward(context);
}

}  // namespace tandem
