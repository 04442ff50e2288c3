// The parameters and running statistics of one normalisation, in a plan.
#pragma once

#include "layers/context.h"
#include "layers/planner.h"

namespace tandem {

// Parameters "weight" and "bias" [C], buffers "running_mean" and "running_var" [C]; NormStatistics::Identity
// has no buffers. Owned by a layer; declare() once, before the op is made: it throws InputError where a batch
// of this size has no variance.
class NormParameters {
 public:
  void declare(Planner& plan, const BatchNormSpec& spec, bool zero_scale);
  BatchNormParameters views(const Context& context) const;

  void plan_gradients(Planner& plan) const {
    plan.gradient(weight_);
    plan.gradient(bias_);
  }
  GradTarget begin_scale(Context& context) const { return context.begin_gradient(weight_); }
  GradTarget begin_bias(Context& context) const { return context.begin_gradient(bias_); }
  void end_gradients(Context& context) const {
    context.end_gradient(weight_);
    context.end_gradient(bias_);
  }

 private:
  ParamId weight_, bias_;
  BufferId mean_, variance_;
};

}  // namespace tandem
