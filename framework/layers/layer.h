// The interface of a layer.
#pragma once

#include "layers/context.h"
#include "layers/flow.h"
#include "layers/planner.h"

namespace tandem {

// A layer is planned once and executed many times.
//
// plan_forward() and plan_backward() are a dry run: they declare parameters, make the ops, and announce every
// use of a tensor and every write of a gradient, in the order in which forward() and backward() will make
// them. Lifetimes, memory and the order in which gradients become ready all follow from that list alone, and
// execution is checked against it. A composite plans by calling its children. All plan_forward() calls of a
// model come before all plan_backward() calls; the latter come in the order of execution, last layer first.
//
// A layer knows no backend and no communication. It owns its ops and remembers the ids of its tensors; memory
// belongs to the plan's arena and the parameter store. forward() and backward() only enqueue on the context's
// stream; what changes from step to step is read by the ops through pointers, never decided here.
class Layer {
 public:
  virtual ~Layer() = default;

  // Throws Error naming the layer if it cannot take the shape of `x`.
  virtual Flow plan_forward(Planner& plan, Flow x) = 0;
  // `dy`: the gradient of what plan_forward returned. Returns the gradient of x; Flow::none() if x needs
  // none.
  virtual Flow plan_backward(Planner& plan, Flow dy) = 0;

  virtual void forward(Context& context) = 0;
  virtual void backward(Context& context) = 0;
};

}  // namespace tandem
