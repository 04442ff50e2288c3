#include "train/training_snapshot.h"

#include <cstring>

namespace tandem {

TrainingSnapshot::TrainingSnapshot(ParameterStore& store, Device& device, Stream& stream)
    : store_(store), device_(device), stream_(stream) {
  for (const auto array : arrays()) {
    const Buffer staging(device.pinned_memory(), array.bytes());
    stream.copy(staging.data(), array.raw(), array.bytes());
    stream.synchronize();
    const auto* bytes = static_cast<const std::byte*>(staging.data());
    copies_.emplace_back(bytes, bytes + array.bytes().value());
  }
}

void TrainingSnapshot::put_back(Elementwise& elementwise) const {
  auto copy = copies_.begin();
  for (const auto array : arrays()) {
    const Buffer staging(device_.pinned_memory(), array.bytes());
    std::memcpy(staging.data(), copy->data(), copy->size());
    stream_.copy(array.raw(), staging.data(), array.bytes());
    stream_.synchronize();
    ++copy;
  }
  const auto all = store_.everything();
  if (const auto working = store_.working(all); !working.empty())
    elementwise.cast(stream_, store_.masters(all), working);
  stream_.synchronize();
}

std::vector<TensorView> TrainingSnapshot::arrays() const {
  const auto all = store_.everything();
  std::vector<TensorView> arrays{store_.masters(all)};
  for (int state = 0; state < store_.options().optimizer_states; ++state)
    arrays.push_back(store_.optimizer_state(state, all));
  if (const auto buffers = store_.all_buffers(); !buffers.empty()) arrays.push_back(buffers);
  return arrays;
}

}  // namespace tandem
