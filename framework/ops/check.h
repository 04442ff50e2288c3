// The checks of a call's tensors, done by every op on the caller's thread, before anything is enqueued.
#pragma once

#include <string_view>

#include "core/tensor_view.h"

namespace tandem {

// Throws Error unless `tensor` is there and has this type and shape. `what` names op and operand, "conv2d
// dy".
void expect_tensor(std::string_view what, const TensorView& tensor, DType dtype, const Shape& shape);

// The same for an operand that the spec excludes: it must be empty.
void expect_no_tensor(std::string_view what, const TensorView& tensor);

// Opaque memory (saved, workspace) of at least `bytes`; none needed where that is zero.
void expect_memory(std::string_view what, const TensorView& memory, ByteCount bytes);

}  // namespace tandem
