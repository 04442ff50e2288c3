#include "train/host_batches.h"

namespace tandem {

HostBatches::HostBatches(Device& device, const BatchFormat& format, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    memory_.emplace_back(device.pinned_memory(), format.input_bytes());
    const auto inputs = memory_.back().view(ByteCount(0), format.input_dtype, format.inputs);
    memory_.emplace_back(device.pinned_memory(), format.target_bytes());
    const auto targets = memory_.back().view(ByteCount(0), DType::I32, format.targets);
    views_.push_back({inputs, targets});
  }
}

}  // namespace tandem
