// A typed window on memory that somebody else owns.
#pragma once

#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"

namespace tandem {

// Does not own its memory; copying it copies the window. The memory may be on any device: only code that runs
// there may follow the pointer.
class TensorView {
 public:
  TensorView() = default;
  TensorView(void* memory, DType dtype, Shape shape) : memory_(memory), dtype_(dtype), shape_(shape) {}

  bool empty() const { return memory_ == nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  ElementCount elements() const { return shape_.elements(); }
  ByteCount bytes() const { return bytes_of(elements(), dtype_); }
  void* raw() const { return memory_; }

  // The memory as T. Throws Error if T is not what is stored.
  template <class T>
  T* data() const {
    TANDEM_EXPECT(dtype_ == dtype_of<T>(), "tensor {} holds {}, read as {}", shape_.to_string(),
                  name_of(dtype_), name_of(dtype_of<T>()));
    return static_cast<T*>(memory_);
  }

  // The same memory under another shape of equally many elements.
  TensorView reshaped(const Shape& shape) const {
    TANDEM_EXPECT(shape.elements() == elements(), "cannot view {} as {}", shape_.to_string(),
                  shape.to_string());
    return TensorView(memory_, dtype_, shape);
  }

 private:
  void* memory_ = nullptr;
  DType dtype_ = DType::F32;
  Shape shape_;
};

}  // namespace tandem
