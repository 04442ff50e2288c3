// Whether and how ranks come up.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "doctor/rules.h"

namespace tandem {
namespace {

std::optional<int> number_at(std::string_view& text) {
  int number = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

// Tasks of all hosts: 7 of "2(x3),1", as SLURM_TASKS_PER_NODE has them. None if it is not of that form.
std::optional<int> slurm_tasks(std::string_view text) {
  int tasks = 0;
  while (!text.empty()) {
    const auto per_host = number_at(text);
    if (!per_host) return std::nullopt;
    int hosts = 1;
    if (text.starts_with("(x")) {
      text.remove_prefix(2);
      const auto repeated = number_at(text);
      if (!repeated || !text.starts_with(')')) return std::nullopt;
      text.remove_prefix(1);
      hosts = *repeated;
    }
    tasks += *per_host * hosts;
    if (!text.empty() && text.front() != ',') return std::nullopt;
    if (!text.empty()) text.remove_prefix(1);
  }
  return tasks;
}

std::string value_of(const Surroundings& around, const std::string& name) {
  const auto found = around.variables.find(name);
  return found == around.variables.end() ? "" : found->second;
}

void examine_slurm(const Surroundings& around, Findings& findings) {
  const auto text = value_of(around, "SLURM_TASKS_PER_NODE");
  const auto tasks = text.empty() ? std::nullopt : slurm_tasks(text);
  if (tasks && around.ranks > *tasks)
    findings.push_back(
        {.severity = Severity::Failure,
         .id = "slots-few",
         .what = fmt::format("This Slurm job has {} task{}, and {} ranks are asked for.", *tasks,
                             *tasks == 1 ? "" : "s", around.ranks),
         .why = "Within a job mpirun takes its slots from the job's tasks, however many cores there are, and "
                "ends with \"not enough slots\".",
         .advice = fmt::format("ask Slurm for --ntasks={}, or use --ranks {}", around.ranks, *tasks)});
  if (!around.srun_mpi.empty() && around.srun_mpi.find("pmix") == std::string::npos)
    findings.push_back({.severity = Severity::Warning,
                        .id = "srun-without-pmix",
                        .what = "srun --mpi=list does not name pmix.",
                        .why =
                            "Open MPI's ranks then do not learn of each other from srun: each runs alone, as "
                            "rank 0 of 1.",
                        .advice = "start with mpirun within the job (sbatch or salloc), or install Slurm's "
                                  "plugin for PMIx"});
}

void examine_places(const Surroundings& around, Findings& findings) {
  if (!around.temp_folder_fault.empty())
    findings.push_back(
        {.severity = Severity::Failure,
         .id = "temp-folder",
         .what =
             fmt::format("Nothing can be written to {}: {}.", around.temp_folder, around.temp_folder_fault),
         .why = "mpirun keeps the files of a job there, and ends or hangs before it starts a rank.",
         .advice = "set TMPDIR to a folder of a local disk with space"});
  if (!around.bridges.empty())
    findings.push_back(
        {.severity = Severity::Note,
         .id = "bridges",
         .what = fmt::format("{} join{} containers or virtual machines of this host.",
                             fmt::join(around.bridges, ", "), around.bridges.size() == 1 ? "s" : ""),
         .why = "Of several hosts, each may have one with the same address: Open MPI and NCCL then try to "
                "reach the others over it, and a job hangs at its start.",
         .advice = "on several hosts, name the network: -- --mca btl_tcp_if_include eth1 --mca "
                   "oob_tcp_if_include eth1, and NCCL_SOCKET_IFNAME=eth1"});
}

void examine_ranks(const Patient& patient, Findings& findings) {
  const auto& measured = patient.measured;
  if (!measured.ranks_started) return;
  const auto expected = static_cast<std::size_t>(patient.around.ranks);
  const auto alone = [](const RankView& view) { return view.world_size == 1; };
  if (expected > 1 && measured.ranks.size() == expected && std::ranges::all_of(measured.ranks, alone)) {
    findings.push_back(
        {.severity = Severity::Failure,
         .id = "ranks-alone",
         .what = fmt::format("mpirun started {} ranks, and each found itself alone.", expected),
         .why = "This mpirun belongs to another MPI than the one that the programs use.",
         .advice = "put the mpirun of the linked MPI first on the PATH"});
  } else if (measured.ranks.size() != expected) {
    findings.push_back({.severity = Severity::Failure,
                        .id = "ranks-do-not-start",
                        .what = fmt::format("{} rank{} started with mpirun did not come up: {}", expected,
                                            expected == 1 ? "" : "s", measured.ranks_failure),
                        .why = "Training will end, or hang, in the same way.",
                        .advice = "the lines above are mpirun's own; docs/troubleshooting.md explains the "
                                  "usual ones"});
  }
}

}  // namespace

void examine_start(const Patient& patient, Findings& findings) {
  examine_slurm(patient.around, findings);
  examine_places(patient.around, findings);
  examine_ranks(patient, findings);
}

}  // namespace tandem
