// The GPUs of this host, as the driver's management library (NVML) describes them.
#pragma once

#include <string>

#include "machine/machine.h"

namespace tandem {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Fills driver, GPUs and pairs, or the reason why there are none. Never throws for a driver that is missing,
// broken or old: what it does not tell stays without value. NVML comes with the driver and is loaded when
// asked for, so that a build needs no header of it and a machine without a GPU can ask too. It sees all GPUs
// that the container or virtual machine shows, whatever CUDA_VISIBLE_DEVICES says, and creates no context on
// them.
//
// A sick driver may not return: call this in a process that may be ended. `library` is for tests.
void probe_gpus(Host& host, const std::string& library = kNvmlLibrary);

// What joins GPUs by their NVLinks, beside the PCIe path that is already there: direct links to each other,
// or as many as both have to switches. A link whose far end the driver does not name counts as one to a
// switch.
void join_by_nvlink(Host& host);

}  // namespace tandem
