// A tensor, or two that the first reader adds in its own pass.
#pragma once

#include "core/tensor_view.h"

namespace tandem {

// `second` is empty where there is only one. Both have the same shape and dtype.
struct Addends {
  TensorView first;
  TensorView second;
};

}  // namespace tandem
