// Dropout whose mask depends on the sample, never on the rank that has it.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"

namespace tandem {

// Element e of sample i is dropped if the random number at (seed, layer, position of i in the run, e) is
// below `probability`; kept ones are scaled by 1 / (1 - probability). The position counts all samples of all
// steps, so it implies the step.
struct DropoutSpec {
  std::int64_t samples = 0, elements_per_sample = 0;
  DType dtype = DType::F32;
  float probability = 0.0f;
  std::uint64_t seed = 0;
  std::uint32_t layer = 0;  // numbers the dropouts of a model
};

class Dropout {
 public:
  virtual ~Dropout() = default;
  // In place on x [samples, elements_per_sample]; positions [samples] i64.
  // The same call on the gradient is the backward pass: the mask is computed again.
  virtual void apply(Stream& stream, TensorView x, TensorView positions) = 0;
};

}  // namespace tandem
