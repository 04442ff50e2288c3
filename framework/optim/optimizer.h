// An optimizer over the flat arrays of a parameter store.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "device/stream.h"
#include "ops/backend.h"
#include "params/parameter_store.h"

namespace tandem {

struct SgdOptions {
  float momentum = 0.9f;
  bool nesterov = false;
};

struct AdamWOptions {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};

struct OptimizerOptions {
  std::variant<SgdOptions, AdamWOptions> rule;
  float weight_decay = 0.0f;
  bool decay_norm_and_bias = false;  // also decay scales and biases
};

// Flat fp32 arrays of state that the rule keeps: momentum; first and second moment.
int optimizer_states(const OptimizerOptions& options);

// Updates any stretch of the parameters by one kernel. Enqueues only; everything that changes from step to
// step is read through the pointers. The store must have optimizer_states(options) state arrays and outlive
// the optimizer.
class Optimizer {
 public:
  Optimizer(OpBackend& ops, ParameterStore& store, const OptimizerOptions& options);

  void step(FlatRange range, StepPointers pointers, Stream& stream);

 private:
  ParameterStore& store_;
  std::unique_ptr<OptimizerUpdate> update_;
};

}  // namespace tandem
