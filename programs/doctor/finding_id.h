// The names of all findings. docs/troubleshooting.md lists them, which a test compares.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tandem {

// In the order in which docs/troubleshooting.md lists them.
inline constexpr std::array<std::string_view, 52> kFindingIds = {
    // programs and how ranks start
    "programs-do-not-start", "mpirun-missing", "mpirun-foreign", "library-copies", "library-version",
    "driver-old", "ranks-alone", "ranks-do-not-start", "slots-few", "srun-without-pmix", "temp-folder",
    "bridges",
    // memory, limits and cores
    "shm-small", "locked-memory", "open-files", "no-cross-memory-attach", "cores-shared", "cores-few",
    "cores-busy", "numa-far", "numa-no-cores",
    // variables and files
    "visible-devices", "visible-devices-per-rank", "one-connection", "launch-blocking", "slow-start",
    "nccl-switch", "nccl-settings", "open-mpi-settings",
    // GPUs
    "no-gpu", "built-without-cuda", "gpu-lost", "mixed-gpus", "mixed-ecc", "throttled", "power-cap", "hot",
    "ecc-errors", "mig", "gpu-busy", "gpu-memory-taken", "ranks-above-gpus", "plans-unknown",
    // links
    "nvlink-down", "nvlink-errors", "pcie-narrow", "pcie-slow", "topology-unknown", "peer-access",
    "peer-data", "peer-slow", "peer-hang"};

// One of these names, and nothing else: any other does not compile.
class FindingId {
 public:
  FindingId() = default;
  consteval FindingId(const char* id)  // NOLINT(google-explicit-constructor): so that rules just write the id
      : text_(id) {
    if (std::ranges::find(kFindingIds, text_) == kFindingIds.end()) throw "no id of kFindingIds";
  }

  constexpr std::string_view text() const { return text_; }
  bool operator==(const FindingId&) const = default;

 private:
  std::string_view text_;
};

}  // namespace tandem
