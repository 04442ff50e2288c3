// The seam between layers and communication: one method.
#pragma once

#include "params/parameter.h"

namespace tandem {

// Told of each parameter once per step, when the last kernel that writes its gradient has been ENQUEUED on
// the compute stream (not when it has run). Layers know nothing else of what happens to gradients.
class GradReady {
 public:
  virtual ~GradReady() = default;
  virtual void ready(ParamId parameter) = 0;
};

}  // namespace tandem
