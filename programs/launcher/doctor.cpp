#include "launcher/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/error.h"
#include "doctor/doctor_report.h"
#include "doctor/surroundings.h"
#include "environment/environment.h"
#include "launcher/child_process.h"
#include "launcher/machine.h"
#include "launcher/mpirun_line.h"
#include "machine/gpu_probe.h"
#include "machine/host_probe.h"
#include "machine/machine_json.h"

namespace tandem {
namespace {

using std::chrono::seconds;

constexpr seconds kFactsLimit{30};  // loading CUDA's libraries from a cold disk takes some
constexpr seconds kStartLimit{60};

// The last lines of what a program said, indented below a finding; or how it ended.
std::string last_words(const TimedOutput& output, seconds limit) {
  constexpr int kLines = 12;
  auto text = output.errors.empty() ? output.text : output.errors;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty())
    return output.exit_status ? fmt::format("it ended with status {}", *output.exit_status)
                              : fmt::format("it did not end within {} s", limit.count());
  auto begin = text.size();
  for (int line = 0; line < kLines && begin != std::string::npos && begin > 0; ++line)
    begin = text.rfind('\n', begin - 1);
  text = text.substr(begin == std::string::npos ? 0 : begin);
  std::string indented;
  for (const char c : text) indented += c == '\n' ? std::string("\n             ") : std::string(1, c);
  return indented;
}

// The GPUs are looked at in a child: a sick driver may not answer.
Host look_at_host(const std::filesystem::path& probe) {
  Host host = probe_host();
  if (!gpus_may_be_here()) {
    host.no_gpu_reason = "no NVIDIA driver is loaded";
    return host;
  }
  const auto seen = output_within({probe.string(), "machine"}, kFactsLimit);
  if (seen.exit_status == 0) return machine_from_json(seen.text, "probe machine").hosts.front();
  if (seen.exit_status) {
    probe_gpus(host);  // the driver need not be the reason
  } else {
    host.no_gpu_reason = fmt::format("the driver does not answer within {} s", kFactsLimit.count());
    host.lost_gpus.push_back("any GPU: it does not answer");
  }
  return host;
}

// "" where Slurm is not there or not set up.
std::string srun_plugins(const std::map<std::string, std::string>& variables) {
  constexpr seconds kLimit{5};  // it asks the controller, which may be gone
  const auto srun = find_on_path("srun", variables);
  if (srun.empty()) return "";
  const auto answer = output_within({srun.string(), "--mpi=list"}, kLimit);
  return answer.exit_status == 0 ? answer.text + answer.errors : "";  // by version on either
}

Surroundings look_at_surroundings(const std::filesystem::path& probe) {
  const auto variables = all_environment_variables();
  auto around = look_around(variables);
  around.mpirun_path = find_on_path("mpirun", variables).string();
  if (!around.mpirun_path.empty()) {
    const auto version = output_within({around.mpirun_path, "--version"}, kFactsLimit);
    around.mpirun = version.text.substr(0, version.text.find('\n'));
  }
  around.srun_mpi = srun_plugins(variables);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(probe, ignored)) {
    around.probe_failure = fmt::format("{} is missing.", probe.string());
    return around;
  }
  const auto answer = output_within({probe.string(), "facts"}, kFactsLimit);
  const auto facts = read_probe_facts(answer.text);
  if (facts) {
    around.cuda_built = facts->cuda_built;
    around.cross_memory_attach = facts->cross_memory_attach;
    around.libraries = facts->libraries;
  } else {
    around.probe_failure = last_words(answer, kFactsLimit);
  }
  return around;
}

int default_ranks(const Host& host) {
  return std::max(1, static_cast<int>(host.gpus.empty() ? host.cores.size() : host.gpus.size()));
}

Patient look(int ranks, const std::filesystem::path& probe) {
  Patient patient{.host = look_at_host(probe), .around = look_at_surroundings(probe)};
  patient.around.ranks = ranks > 0 ? ranks : default_ranks(patient.host);
  return patient;
}

void start_ranks(Patient& patient, const DoctorOptions& options) {
  const auto& around = patient.around;
  if (around.mpirun.empty() || !around.probe_failure.empty()) return;
  auto request = on_cores(around.ranks, std::max(1, static_cast<int>(patient.host.cores.size())));
  request.root = runs_as_root();
  request.extra = options.mpirun_extra;
  request.program = {options.probe.string(), "ranks"};
  const auto output = output_within(mpirun_line(request), kStartLimit);
  patient.measured.ranks_started = true;
  patient.measured.ranks = read_rank_views(output.text);
  if (patient.measured.ranks.size() != static_cast<std::size_t>(around.ranks))
    patient.measured.ranks_failure = last_words(output, kStartLimit);
}

// Only what the driver knows is shown and judged.
void keep_known_gpus(const Host& host, Measurements& measured) {
  const auto unknown = [&host](int gpu) {
    return std::ranges::find(host.gpus, gpu, &Gpu::index) == host.gpus.end();
  };
  std::erase_if(measured.peers, [&](const PeerTest& t) { return unknown(t.from) || unknown(t.to); });
  std::erase_if(measured.pcie, [&](const PcieUnderLoad& link) { return unknown(link.gpu); });
}

void test_gpus(Patient& patient, const DoctorOptions& options) {
  const auto gpus = static_cast<int>(patient.host.gpus.size());
  if (gpus == 0 || !patient.around.cuda_built) return;
  const seconds limit{30 + 5 * gpus + 2 * gpus * gpus};
  std::vector<std::string> command = {options.probe.string(), "peers"};
  if (options.all_ways) command.emplace_back("--all-ways");
  const auto output = output_within(command, limit);
  auto tested = read_peer_tests(output.text);
  if (tested.unfinished.empty() && output.exit_status != 0) tested.unfinished = "the GPUs' start";
  if (output.exit_status.value_or(0) != 0) tested.unfinished += ": " + last_words(output, limit);
  keep_known_gpus(patient.host, tested);
  tested.ranks_started = patient.measured.ranks_started;
  tested.ranks = std::move(patient.measured.ranks);
  tested.ranks_failure = std::move(patient.measured.ranks_failure);
  patient.measured = std::move(tested);
}

// Another machine's file: its own surroundings are not in it, so only the machine is judged.
int judge_file(const DoctorOptions& options) {
  const auto machine = read_machine(options.machine);
  Findings all;
  for (const auto& host : machine.hosts) {
    Patient patient{.host = host};
    patient.around.cuda_built = true;
    patient.around.ranks = options.ranks > 0 ? options.ranks : default_ranks(host);
    Findings findings;
    examine_gpus(patient, findings);
    examine_links(patient, findings);
    const auto text = options.json ? doctor_json(patient, findings) : machine_text(patient, findings);
    fmt::print("{}", text);
    all.insert(all.end(), findings.begin(), findings.end());
  }
  return exit_status_of(all);
}

}  // namespace

int doctor_command(const DoctorOptions& options) {
  if (!options.machine.empty()) return judge_file(options);
  auto patient = look(options.ranks, options.probe);
  refuse_far_too_many_ranks(patient.around.ranks, std::max(1, static_cast<int>(patient.host.cores.size())),
                            patient.host.name);
  start_ranks(patient, options);
  test_gpus(patient, options);
  const auto findings = examine(patient);
  fmt::print("{}", options.json ? doctor_json(patient, findings) : doctor_text(patient, findings));
  return exit_status_of(findings);
}

void require_healthy_gpus(int ranks, const std::filesystem::path& probe) {
  if (!gpus_may_be_here()) return;
  const auto patient = look(ranks, probe);
  const auto findings = examine(patient);
  fmt::print(stderr, "{}", findings_text(findings, Severity::Warning));
  if (exit_status_of(findings) != kFailingStatus) return;
  throw InputError({.what = "This machine is not fit for a run on its GPUs.",
                    .where = "launcher doctor, the check before every run on GPUs",
                    .expected = "no failure",
                    .found = findings.front().what,
                    .advice = "do what the findings above say, or skip the check with --no-doctor"});
}

}  // namespace tandem
