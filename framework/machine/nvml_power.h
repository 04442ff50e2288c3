// The power of an NVIDIA GPU, read through the driver's management library (NVML).
#pragma once

#include <memory>
#include <string>

#include "device/power_source.h"
#include "machine/gpu_probe.h"

namespace tandem {

struct NvmlPowerOptions {
  std::string pci_bus_id;  // "0000:3b:00.0", as cudaDeviceGetPCIBusId writes it
  double share = 1.0;      // the part of the GPU's power that counts: 1 / ranks that share it
  std::string library = kNvmlLibrary;
};

// Null where there is no such library, GPU or reading. nvmlDeviceGetPowerUsage gives the board's power; on
// GPUs newer than the A100 it is an average over one second (NVML API reference), so that the energy of an
// epoch of a few seconds is blurred by its surroundings.
std::unique_ptr<PowerSource> open_nvml_power(const NvmlPowerOptions& options);

}  // namespace tandem
