#include "ops/check.h"

namespace tandem {

void expect_tensor(std::string_view what, const TensorView& tensor, DType dtype, const Shape& shape) {
  TANDEM_EXPECT(!tensor.empty(), "{}: expected {} {}, found no tensor", what, name_of(dtype),
                shape.to_string());
  TANDEM_EXPECT(tensor.dtype() == dtype && tensor.shape() == shape, "{}: expected {} {}, found {} {}", what,
                name_of(dtype), shape.to_string(), name_of(tensor.dtype()), tensor.shape().to_string());
}

void expect_no_tensor(std::string_view what, const TensorView& tensor) {
  TANDEM_EXPECT(tensor.empty(), "{}: expected no tensor, found {} {}", what, name_of(tensor.dtype()),
                tensor.shape().to_string());
}

void expect_memory(std::string_view what, const TensorView& memory, ByteCount bytes) {
  if (bytes == ByteCount(0)) return;
  TANDEM_EXPECT(!memory.empty(), "{}: expected {} bytes, found none", what, bytes.value());
  TANDEM_EXPECT(memory.bytes() >= bytes, "{}: expected {} bytes, found {}", what, bytes.value(),
                memory.bytes().value());
}

}  // namespace tandem
