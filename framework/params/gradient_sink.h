// Where layers write gradients: which memory, overwrite or add, and when one is complete.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/tensor_view.h"
#include "params/grad_ready.h"
#include "params/parameter_store.h"

namespace tandem {

enum class GradMode { Overwrite, Accumulate };

struct GradTarget {
  TensorView view;  // in the parameter's stored shape
  GradMode mode;
};

// Casts a finished fp32 sum of micro-gradients to the reduce dtype; enqueues on the compute stream.
using CastGradient = std::function<void(TensorView sum, TensorView gradient)>;

// Not thread-safe; used by the thread that enqueues the step.
//
// The first write of a step overwrites, so nothing is zeroed; later ones (further micro-batches, further uses
// of a tied weight) add. A parameter is ready after its last use in the last micro-batch.
class GradientSink {
 public:
  // `uses[p]`: how often parameter p's gradient is written in one backward pass.
  GradientSink(const ParameterStore& store, std::vector<int> uses, CastGradient cast);

  void begin_micro_batch(int index, int count);  // index in [0, count); forgets uses of the one before
  void set_listener(GradReady& listener) { listener_ = &listener; }

  GradTarget begin(ParamId id);
  void end(ParamId id);  // REQUIRES one begin(id) since the last end(id)

 private:
  const ParameterStore& store_;
  std::vector<int> uses_;
  CastGradient cast_;
  std::vector<int> done_;
  int micro_batch_ = 0;
  int micro_batches_ = 1;
  GradReady* listener_ = nullptr;
};

}  // namespace tandem
