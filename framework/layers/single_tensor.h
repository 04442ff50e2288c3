// Makes one tensor of a flow.
#pragma once

#include <memory>

#include "layers/context.h"
#include "layers/flow.h"
#include "layers/planner.h"

namespace tandem {

// For a layer whose op reads one tensor: adds the two of a sum, and plans nothing where there is no sum. The
// gradient of the result is that of both addends. Owned by the layer; plan() once, then run() in the place of
// the op that was planned.
class SingleTensor {
 public:
  TensorId plan(Planner& plan, Flow flow);
  void run(Context& context);

 private:
  std::unique_ptr<Elementwise> op_;  // null where there is nothing to add
  Flow addends_;
  TensorId sum_;
};

}  // namespace tandem
