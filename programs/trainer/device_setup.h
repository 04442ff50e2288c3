// From the configuration to a device, its ops, and what joins devices.
#pragma once

#include <memory>
#include <optional>

#include "comm/comm_setup.h"
#include "device/device.h"
#include "device/power_source.h"
#include "ops/backend.h"
#include "report/run_record.h"
#include "run_config/run_config.h"
#include "train/startup_clock.h"
#include "trainer/rank_environment.h"

namespace tandem {

// Destroyed from the last member to the first.
struct ComputeDevice {
  std::unique_ptr<Device> device;
  std::unique_ptr<OpBackend> ops;
  // Between devices; null where the job's own communicator reaches device memory.
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Allocator> gradient_memory;  // null: the device's
  std::optional<EmulatedRecord> emulated;
  std::unique_ptr<PowerSource> power;  // null: cannot be read
};

// All ranks call together. Tells `startup` of the device's and the communication library's start. Throws
// InputError, naming what can be done, if the configuration asks for what this build or machine has not.
ComputeDevice make_compute_device(const RunConfig& config, const RankEnvironment& job, Comm& comm,
                                  StartupClock& startup);

// The devices that a run on this machine would use: device.kind with auto resolved.
DeviceKind resolve_device_kind(const RunConfig& config);

// How many ranks of the job use this rank's device: several only on a shared GPU.
int ranks_on_device(const RunConfig& config, const RankEnvironment& job);

// Versions of the libraries that the device works with, for the run record.
std::map<std::string, std::string> device_versions(DeviceKind kind);

}  // namespace tandem
