// Pinned memory for batches that wait for the device.
#pragma once

#include <cstddef>
#include <vector>

#include "data/batch.h"
#include "device/device.h"

namespace tandem {

// Owns `count` batches; views stay valid as long as it lives.
class HostBatches {
 public:
  HostBatches(Device& device, const BatchFormat& format, std::size_t count);
  const std::vector<BatchView>& views() const { return views_; }

 private:
  std::vector<Buffer> memory_;
  std::vector<BatchView> views_;
};

}  // namespace tandem
