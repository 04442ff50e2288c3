// Gradients that a library call cannot put where they belong: it writes one dtype and cannot add.
#pragma once

#include <string_view>

#include "device/stream.h"
#include "ops/cuda/linear_kernels.h"
#include "params/gradient_sink.h"

namespace tandem {

// Throws Error unless the target has this shape and a float dtype: the reduce dtype need not be the op's own.
void expect_gradient_target(std::string_view what, const GradTarget& target, const Shape& shape);

GradientOut as_kernel_argument(const GradTarget& target);

// Enqueues the pass that casts or adds `scratch`, as many elements of dtype `produced`, to the target.
void store_gradient(Stream& stream, const void* scratch, DType produced, const GradTarget& target);

}  // namespace tandem
