#include "layers/single_tensor.h"

namespace tandem {

TensorId SingleTensor::plan(Planner& plan, Flow flow) {
  if (!flow.is_sum()) return flow.first;
  op_ = plan.ops().make_elementwise();
  addends_ = flow;
  sum_ = plan.tensor("sum", plan.shape(flow.first));
  plan.op({reads(flow.first), reads(flow.second), writes(sum_)});
  return sum_;
}

void SingleTensor::run(Context& context) {
  if (op_ == nullptr) return;
  op_->add(context.stream(), context.read(addends_), context.write(sum_));
}

}  // namespace tandem
