#include "device/buffer.h"

namespace tandem {

Buffer::Buffer(Allocator& allocator, ByteCount bytes) : bytes_(bytes) {
  if (bytes > ByteCount(0))
    memory_ = std::unique_ptr<void, ReleaseTo>(allocator.allocate(bytes), {&allocator});
}

TensorView Buffer::view(ByteCount offset, DType dtype, const Shape& shape) const {
  const auto end = offset + bytes_of(shape.elements(), dtype);
  TANDEM_EXPECT(offset >= ByteCount(0) && end <= bytes_,
                "a {} {} at byte {} ends at {}, past the buffer's {}", name_of(dtype), shape.to_string(),
                offset.value(), end.value(), bytes_.value());
  return TensorView(static_cast<char*>(memory_.get()) + offset.value(), dtype, shape);
}

}  // namespace tandem
