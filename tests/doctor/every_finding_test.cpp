// Every finding that the code knows: somebody has it, and the page explains it.
#include <functional>
#include <map>
#include <regex>
#include <sstream>

#include "doctor/patients.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

using Fault = std::function<void(Patient&)>;

Fault variable(const std::string& name, const std::string& value) {
  return [=](Patient& of) { of.around.variables[name] = value; };
}

Fault peer(const PeerTest& test) {
  return [=](Patient& of) { of.measured.peers = {test}; };
}

void add_program_faults(std::map<std::string, Fault>& faults) {
  faults["programs-do-not-start"] = [](Patient& of) { of.around.probe_failure = "a library is missing"; };
  faults["mpirun-missing"] = [](Patient& of) { of.around.mpirun = ""; };
  faults["mpirun-foreign"] = [](Patient& of) { of.around.mpirun = "HYDRA build details:"; };
  faults["library-copies"] = [](Patient& of) { of.around.libraries[2].copies = {"/a", "/b"}; };
  faults["library-version"] = [](Patient& of) { of.around.libraries[2].loaded = "2.18.5"; };
  faults["driver-old"] = [](Patient& of) { of.around.libraries[1].loaded = "99.0"; };
  faults["ranks-alone"] = [](Patient& of) {
    of.measured.ranks_started = true;
    of.measured.ranks = {{.rank = 0}, {.rank = 0}};
  };
  faults["ranks-do-not-start"] = [](Patient& of) { of.measured.ranks_started = true; };
  faults["slots-few"] = variable("SLURM_TASKS_PER_NODE", "1");
  faults["srun-without-pmix"] = [](Patient& of) { of.around.srun_mpi = "none"; };
  faults["temp-folder"] = [](Patient& of) { of.around.temp_folder_fault = "Permission denied"; };
  faults["bridges"] = [](Patient& of) { of.around.bridges = {"docker0"}; };
}

void add_system_faults(std::map<std::string, Fault>& faults) {
  faults["shm-small"] = [](Patient& of) { of.around.shm_free_bytes = 0; };
  faults["locked-memory"] = [](Patient& of) {
    of.host.ports.push_back({.name = "mlx5_0", .kind = "infiniband"});
    of.around.locked_memory_bytes = 1;
  };
  faults["open-files"] = [](Patient& of) { of.around.open_files = 1; };
  faults["no-cross-memory-attach"] = [](Patient& of) { of.around.cross_memory_attach = false; };
  faults["cores-shared"] = [](Patient& of) { of.host.cores.resize(1); };
  faults["cores-few"] = [](Patient& of) { of.host.cores.resize(2); };
  faults["cores-busy"] = [](Patient& of) { of.around.load = 1000; };
  faults["numa-far"] = [](Patient& of) {
    of.host.gpus[0].numa = 7;
    of.measured.ranks = {{.rank = 0, .host = of.host.name, .hardware_threads = {0}}};
  };
  faults["numa-no-cores"] = [](Patient& of) { of.host.gpus[0].numa = 7; };
}

void add_variable_faults(std::map<std::string, Fault>& faults) {
  faults["visible-devices"] = variable("CUDA_VISIBLE_DEVICES", "0");
  faults["visible-devices-per-rank"] = [](Patient& of) {
    of.measured.ranks = {{.rank = 0, .devices = "0"}, {.rank = 1, .devices = "1"}};
  };
  faults["one-connection"] = variable("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  faults["launch-blocking"] = variable("CUDA_LAUNCH_BLOCKING", "1");
  faults["slow-start"] = variable("CUDA_CACHE_DISABLE", "1");
  faults["nccl-switch"] = variable("NCCL_P2P_DISABLE", "1");
  faults["nccl-settings"] = variable("NCCL_DEBUG", "INFO");
  faults["open-mpi-settings"] = variable("OMPI_MCA_btl", "self");
}

void add_gpu_faults(std::map<std::string, Fault>& faults) {
  faults["no-gpu"] = [](Patient& of) { of.host.gpus.clear(); };
  faults["built-without-cuda"] = [](Patient& of) { of.around.cuda_built = false; };
  faults["gpu-lost"] = [](Patient& of) { of.host.lost_gpus = {"GPU 2"}; };
  faults["mixed-gpus"] = [](Patient& of) { of.host.gpus[0].name = "NVIDIA A2"; };
  faults["mixed-ecc"] = [](Patient& of) {
    of.host.gpus[0].ecc = false;
    of.host.gpus[1].ecc = true;
  };
  faults["throttled"] = [](Patient& of) { of.host.gpus[0].state.throttle_reasons = {"thermal slowdown"}; };
  faults["power-cap"] = [](Patient& of) {
    of.host.gpus[0].state.power_limit_w = 100;
    of.host.gpus[0].state.default_power_limit_w = 700;
  };
  faults["hot"] = [](Patient& of) {
    of.host.gpus[0].state.temperature_c = 90;
    of.host.gpus[0].state.slowdown_temperature_c = 90;
  };
  faults["ecc-errors"] = [](Patient& of) { of.host.gpus[0].uncorrected_ecc_errors = 1; };
  faults["mig"] = [](Patient& of) { of.host.gpus[0].mig = true; };
  faults["gpu-busy"] = [](Patient& of) { of.host.gpus[0].processes = {{.pid = 1}}; };
  faults["gpu-memory-taken"] = [](Patient& of) { of.host.gpus[0].state.memory_used_bytes = 9'000'000'000; };
  faults["ranks-above-gpus"] = [](Patient& of) { of.around.ranks = 3; };
  faults["plans-unknown"] = [](Patient& of) { of.around.planned_gpus.emplace(); };
}

void add_link_faults(std::map<std::string, Fault>& faults) {
  faults["nvlink-down"] = [](Patient& of) { of.host.gpus[0].nvlinks[0].active = false; };
  faults["nvlink-errors"] = [](Patient& of) { of.host.gpus[0].nvlinks[0].replay_errors = 1; };
  faults["pcie-narrow"] = [](Patient& of) { of.measured.pcie = {{.gpu = 0, .width = 1}}; };
  faults["pcie-slow"] = [](Patient& of) { of.measured.pcie = {{.gpu = 0, .generation = 1}}; };
  faults["topology-unknown"] = [](Patient& of) { of.host.gpu_pairs[0].pcie_path = Path::Unknown; };
  faults["peer-access"] = peer({.from = 0, .to = 1, .access = false});
  faults["peer-data"] = peer({.from = 0, .to = 1, .access = true, .wrong = "all words are zero"});
  faults["peer-slow"] = peer({.from = 0, .to = 1, .access = true, .gb_per_s = 1});
  faults["peer-hang"] = [](Patient& of) { of.measured.unfinished = "GPU 0 to GPU 1"; };
}

std::vector<std::string> known_ids() {
  return {kFindingIds.begin(), kFindingIds.end()};
}

TEST(EveryFinding, HasAPatient) {
  std::map<std::string, Fault> faults;
  for (const auto add :
       {add_program_faults, add_system_faults, add_variable_faults, add_gpu_faults, add_link_faults})
    add(faults);
  for (const auto& id : known_ids()) {
    ASSERT_TRUE(faults.contains(id)) << id;
    auto of = patient("h200x2_nv18");
    EXPECT_THAT(ids(examine(of)), testing::IsEmpty());
    faults[id](of);
    EXPECT_THAT(ids(examine(of)), testing::Contains(id));
  }
  EXPECT_EQ(faults.size(), kFindingIds.size());
}

// Rows of the page's table: | `id` | severity | … |
TEST(EveryFinding, IsOnThePageInTheOrderOfTheCode) {
  std::vector<std::string> listed;
  std::istringstream page(read_file(TROUBLESHOOTING_PAGE));
  const std::regex row(R"(\| `([a-z-]+)` \| (note|warning|FAIL)(, (warning|FAIL))? \| .+ \| .+ \|)");
  std::smatch match;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, match, row)) listed.push_back(match[1]);
  EXPECT_EQ(listed, known_ids());
}

}  // namespace
}  // namespace tandem
