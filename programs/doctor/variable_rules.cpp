// What the environment and NCCL's files switch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "doctor/rules.h"

namespace tandem {
namespace {

std::string value_of(const Surroundings& around, const std::string& name) {
  const auto found = around.variables.find(name);
  return found == around.variables.end() ? "" : found->second;
}

std::size_t devices_in(const std::string& list) {
  if (list.empty()) return 0;
  return static_cast<std::size_t>(std::ranges::count(list, ',')) + 1;
}

void examine_narrowed_ranks(const Patient& patient, Findings& findings) {
  const auto& views = patient.measured.ranks;
  if (views.size() < 2) return;
  const auto sees_one = [](const RankView& view) { return view.devices && devices_in(*view.devices) == 1; };
  std::set<std::string> lists;
  for (const auto& view : views) lists.insert(view.devices.value_or(""));
  if (!std::ranges::all_of(views, sees_one) || lists.size() < 2) return;
  findings.push_back(
      {.severity = Severity::Warning,
       .id = "visible-devices-per-rank",
       .what = fmt::format("CUDA_VISIBLE_DEVICES shows every rank one GPU only: {}.", fmt::join(lists, ", ")),
       .why = "GPUs that cannot see each other cannot share memory, so NCCL may fall back to "
              "host memory (NVIDIA/nccl#129, #1066).",
       .advice = "show all GPUs to all ranks (Slurm: --gpus-per-node instead of "
                 "--gpus-per-task); each rank takes its own by its local rank"});
}

void examine_visible_devices(const Patient& patient, Findings& findings) {
  const auto gpus = patient.host.gpus.size();
  if (gpus == 0 || !patient.around.variables.contains("CUDA_VISIBLE_DEVICES")) return;
  const auto list = value_of(patient.around, "CUDA_VISIBLE_DEVICES");
  if (devices_in(list) >= gpus) return;
  findings.push_back(
      {.severity = Severity::Warning,
       .id = "visible-devices",
       .what = fmt::format("CUDA_VISIBLE_DEVICES={} shows {} of {} GPUs.", list, devices_in(list), gpus),
       .why = "A job uses the GPUs that are shown and no other.",
       .advice = "unset CUDA_VISIBLE_DEVICES to use all; fine if the others are not yours"});
}

void examine_connections(const Surroundings& around, Findings& findings) {
  if (value_of(around, "CUDA_DEVICE_MAX_CONNECTIONS") != "1") return;
  findings.push_back({.severity = Severity::Warning,
                      .id = "one-connection",
                      .what = "CUDA_DEVICE_MAX_CONNECTIONS=1 is set.",
                      .why = "All streams then share one queue: an all-reduce waits behind backward kernels, "
                             "and nothing overlaps.",
                      .advice = "unset CUDA_DEVICE_MAX_CONNECTIONS"});
}

void examine_blocking(const Surroundings& around, Findings& findings) {
  if (value_of(around, "CUDA_LAUNCH_BLOCKING") != "1") return;
  findings.push_back({.severity = Severity::Warning,
                      .id = "launch-blocking",
                      .what = "CUDA_LAUNCH_BLOCKING=1 is set.",
                      .why = "Every kernel is waited for before the next is started: nothing overlaps.",
                      .advice = "unset CUDA_LAUNCH_BLOCKING"});
}

void examine_slow_start(const Surroundings& around, Findings& findings) {
  std::vector<std::string> in_force;
  if (value_of(around, "CUDA_MODULE_LOADING") == "EAGER") in_force.emplace_back("CUDA_MODULE_LOADING=EAGER");
  if (value_of(around, "CUDA_CACHE_DISABLE") == "1") in_force.emplace_back("CUDA_CACHE_DISABLE=1");
  if (in_force.empty()) return;
  findings.push_back(
      {.severity = Severity::Warning,
       .id = "slow-start",
       .what = fmt::format("{} {} set.", fmt::join(in_force, " and "), in_force.size() == 1 ? "is" : "are"),
       .why = "Every start then loads, or compiles anew, kernels that an earlier one had ready or that "
              "nobody calls: the time before the first step grows, and with it the memory taken.",
       .advice = "unset CUDA_MODULE_LOADING CUDA_CACHE_DISABLE"});
}

struct SwitchMeaning {
  std::string_view name;
  std::string_view value;  // that has the effect; "" for any
  const char* effect;
};

constexpr std::array<SwitchMeaning, 8> kSwitches = {{
    {"NCCL_P2P_DISABLE", "1", "GPUs do not reach each other directly; everything goes through host memory"},
    {"NCCL_P2P_LEVEL", "", "GPUs farther apart than this go through host memory"},
    {"NCCL_SHM_DISABLE", "1", "host-staged exchange goes through sockets"},
    {"NCCL_IB_DISABLE", "1", "hosts reach each other by sockets even where there is InfiniBand"},
    {"NCCL_NET_GDR_LEVEL", "", "it decides which GPUs the network cards reach directly"},
    {"NCCL_ALGO", "", "NCCL does not choose its algorithm by size"},
    {"NCCL_PROTO", "", "NCCL does not choose its protocol by size"},
    {"NCCL_DEBUG_FILE", "", "the trainer refuses to start, since NCCL's log proves the transport"},
}};

void examine_setting(std::string_view name, std::string_view value, const std::string& origin,
                     Findings& findings) {
  for (const auto& known : kSwitches) {
    if (known.name != name || (!known.value.empty() && known.value != value)) continue;
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "nccl-switch",
         .what = fmt::format("{}={} is set {}.", name, value, origin),
         .why = fmt::format("With it, {}.", known.effect),
         .advice = fmt::format("unset {}, unless that is what you measure; comm.link chooses a "
                               "link for one run",
                               name)});
  }
}

void examine_nccl(const Surroundings& around, Findings& findings) {
  std::vector<std::string> in_force;
  for (const auto& [name, value] : around.variables) {
    if (!name.starts_with("NCCL_")) continue;
    in_force.push_back(fmt::format("{}={}", name, value));
    examine_setting(name, value, "in the environment", findings);
  }
  for (const auto& file : around.nccl_files) {
    for (const auto& setting : file.settings) {
      const auto name = setting.substr(0, setting.find('='));
      if (around.variables.contains(name)) continue;  // the environment wins
      in_force.push_back(fmt::format("{} ({})", setting, file.path));
      examine_setting(name, setting.substr(std::min(setting.size(), name.size() + 1)), "in " + file.path,
                      findings);
    }
  }
  if (in_force.empty()) return;
  findings.push_back({.severity = Severity::Note,
                      .id = "nccl-settings",
                      .what = fmt::format("NCCL settings in force: {}.", fmt::join(in_force, ", ")),
                      .why = "They apply to every run on this machine.",
                      .advice = ""});
}

void examine_open_mpi(const Surroundings& around, Findings& findings) {
  std::vector<std::string> in_force;
  for (const auto& [name, value] : around.variables)
    if (name.starts_with("OMPI_MCA_")) in_force.push_back(fmt::format("{}={}", name, value));
  if (in_force.empty()) return;
  findings.push_back(
      {.severity = Severity::Note,
       .id = "open-mpi-settings",
       .what = fmt::format("Open MPI settings in force: {}.", fmt::join(in_force, ", ")),
       .why = "They apply to every job; a run whose comm.link says otherwise refuses to start.",
       .advice = ""});
}

}  // namespace

void examine_variables(const Patient& patient, Findings& findings) {
  examine_visible_devices(patient, findings);
  examine_narrowed_ranks(patient, findings);
  examine_connections(patient.around, findings);
  examine_blocking(patient.around, findings);
  examine_slow_start(patient.around, findings);
  examine_nccl(patient.around, findings);
  examine_open_mpi(patient.around, findings);
}

}  // namespace tandem
