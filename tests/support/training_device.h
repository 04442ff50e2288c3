// What a test computes on.
#pragma once

#include <memory>

#include "device/cpu/cpu_device.h"
#include "ops/cpu/cpu_backend.h"

namespace tandem {

// The CPU unless a test says otherwise. The ops go first.
struct TrainingDevice {
  std::unique_ptr<Device> device = std::make_unique<CpuDevice>();
  std::unique_ptr<OpBackend> ops = make_cpu_backend();
};

}  // namespace tandem
