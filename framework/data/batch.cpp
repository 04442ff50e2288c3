#include "data/batch.h"

#include "core/error.h"

namespace tandem {
namespace {

Shape with_first_extent(const Shape& shape, std::int64_t rows) {
  switch (shape.rank()) {
    case 1:
      return {rows};
    case 2:
      return {rows, shape[1]};
    case 4:
      return {rows, shape[1], shape[2], shape[3]};
    default:
      TANDEM_EXPECT(false, "a batch has no tensors like {}", shape.to_string());
      return {};
  }
}

TensorView part(const TensorView& tensor, std::int64_t index, std::int64_t count) {
  const std::int64_t rows = tensor.shape()[0];
  TANDEM_EXPECT(count > 0 && rows % count == 0 && index >= 0 && index < count, "part {} of {} of {} rows",
                index, count, rows);
  const std::int64_t bytes = tensor.bytes().value() / count;
  return TensorView(static_cast<std::uint8_t*>(tensor.raw()) + index * bytes, tensor.dtype(),
                    with_first_extent(tensor.shape(), rows / count));
}

}  // namespace

BatchView micro_batch(const BatchView& batch, std::int64_t index, std::int64_t count) {
  return {part(batch.inputs, index, count), part(batch.targets, index, count)};
}

}  // namespace tandem
