#include "launcher/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "environment/environment.h"
#include "launcher/child_process.h"
#include "launcher/mpirun_line.h"
#include "machine/gpu_probe.h"
#include "machine/host_probe.h"
#include "machine/machine_json.h"

namespace tandem {

namespace {

Host host_probed_here() {
  Host host = probe_host();
  TANDEM_EXPECT(!host.cores.empty(), "host {} has no core that this process may use", host.name);
  probe_gpus(host);
  return host;
}

}  // namespace

// A sick driver may never answer, so where one is loaded, another process asks it.
Host this_host() {
  constexpr std::chrono::seconds kLimit{20};
  std::error_code ignored;  // what cannot be looked at is not there
  const auto launcher = executable_path().parent_path() / "launcher";
  if (!std::filesystem::exists("/proc/driver/nvidia/version", ignored) ||
      !std::filesystem::exists(launcher, ignored))
    return host_probed_here();
  const auto answer = output_within({launcher.string(), "machine"}, kLimit);
  if (answer.exit_status == 0) return machine_from_json(answer.text, "launcher machine").hosts.front();
  Host host = probe_host();
  host.no_gpu_reason = "the NVIDIA driver does not answer; see launcher doctor";
  return host;
}

int physical_cores() {
  return std::max(1, static_cast<int>(probe_host().cores.size()));
}

void refuse_far_too_many_ranks(int ranks, int cores, const std::string& host) {
  constexpr int kMostRanksPerCore = 16;
  if (ranks <= kMostRanksPerCore * cores) return;
  throw InputError({.what = "There are far more ranks on a host than cores.",
                    .where = fmt::format("{} (--ranks, or the slots of the host)", host),
                    .expected = fmt::format("at most {} on {} core{}", kMostRanksPerCore * cores, cores,
                                            cores == 1 ? "" : "s"),
                    .found = fmt::format("{} ranks", ranks),
                    .advice = "start fewer ranks"});
}

std::string machine_as_json() {
  return to_json(Machine{.hosts = {host_probed_here()}});
}

int require_open_mpi() {
  constexpr int kOldestVersion = 4;
  const std::string found = output_of({"mpirun", "--version"});
  const int major = open_mpi_major_version(found);
  if (major >= kOldestVersion) return major;
  throw InputError({.what = "This mpirun is not the one that the programs are built for.",
                    .where = "mpirun --version",
                    .expected = "Open MPI 4 or newer",
                    .found = found.substr(0, found.find('\n')),
                    .advice = "install openmpi-bin, or put Open MPI's mpirun first on the PATH"});
}

void require_slurm() {
  constexpr const char* kMark = "slurm";
  const std::string found = output_of({"srun", "--version"});
  if (found.find(kMark) != std::string::npos) return;
  throw InputError({.what = "This srun is not Slurm's.",
                    .where = "srun --version",
                    .expected = "slurm and its version",
                    .found = found.substr(0, found.find('\n')),
                    .advice = "start with mpirun, or put Slurm's srun first on the PATH"});
}

}  // namespace tandem
