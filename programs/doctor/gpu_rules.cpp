// Each GPU by itself, and how they differ.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "doctor/rules.h"

namespace tandem {
namespace {

// "GPU 3", "GPUs 0, 1 and 5"
std::string gpu_names(const std::vector<int>& indices) {
  if (indices.size() == 1) return fmt::format("GPU {}", indices.front());
  const std::vector<int> first(indices.begin(), indices.end() - 1);
  return fmt::format("GPUs {} and {}", fmt::join(first, ", "), indices.back());
}

void examine_presence(const Patient& patient, Findings& findings) {
  const auto& host = patient.host;
  for (const auto& lost : host.lost_gpus)
    findings.push_back({.severity = Severity::Failure,
                        .id = "gpu-lost",
                        .what = fmt::format("The driver cannot reach {}.", lost),
                        .why = "It has fallen off the bus; programs that start CUDA may hang.",
                        .advice = "dmesg | grep -i xid tells when; reset the GPU or restart the machine"});
  if (host.gpus.empty()) {
    const bool expected = patient.around.cuda_built;
    const auto* container = host.container.empty() ? "" : "; in a container, start it with --gpus all";
    findings.push_back(
        {.severity = expected ? Severity::Warning : Severity::Note,
         .id = "no-gpu",
         .what = fmt::format("No GPU here: {}.", host.no_gpu_reason),
         .why = "Runs take CPU ranks.",
         .advice = fmt::format("if this machine has GPUs: install their driver{}", container)});
  } else if (!patient.around.cuda_built && patient.around.probe_failure.empty()) {
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "built-without-cuda",
         .what = fmt::format("There {} GPU{} here, and the programs were built without CUDA.",
                             host.gpus.size() == 1 ? "is a" : "are", host.gpus.size() == 1 ? "" : "s"),
         .why = "Runs take CPU ranks.",
         .advice = "configure again and read the line \"CUDA backend: off (missing: …)\""});
  }
}

void examine_models(const Host& host, Findings& findings) {
  std::map<std::string, std::vector<int>> models;
  std::map<bool, std::vector<int>> ecc;
  for (const auto& gpu : host.gpus) {
    models[gpu.name].push_back(gpu.index);
    if (gpu.ecc) ecc[*gpu.ecc].push_back(gpu.index);
  }
  if (models.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [name, indices] : models)
      parts.push_back(fmt::format("{} is {}", gpu_names(indices), name));
    findings.push_back({.severity = Severity::Warning,
                        .id = "mixed-gpus",
                        .what = fmt::format("The GPUs differ: {}.", fmt::join(parts, "; ")),
                        .why = "Every step waits for the slowest, and the smallest memory bounds the batch.",
                        .advice = "choose equal ones with CUDA_VISIBLE_DEVICES"});
  }
  if (ecc.size() > 1)
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "mixed-ecc",
         .what = fmt::format("ECC is on for {} and off for {}.", gpu_names(ecc[true]), gpu_names(ecc[false])),
         .why = "ECC costs memory and, on some GPUs, bandwidth; equal GPUs then run unequally.",
         .advice = "nvidia-smi -e 1 on all, and restart"});
}

void examine_clocks(const Gpu& gpu, Findings& findings) {
  const auto& state = gpu.state;
  std::vector<std::string> reasons;
  for (const auto& reason : state.throttle_reasons)
    if (reason != "power cap") reasons.push_back(reason);  // normal under load
  if (!reasons.empty())
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "throttled",
         .what = fmt::format("GPU {} holds its clocks back: {}.", gpu.index, fmt::join(reasons, ", ")),
         .why = "Steps are slower than the GPU's data sheet and than its neighbours.",
         .advice = "nvidia-smi -q -d PERFORMANCE says more; look at cooling and power supply, and "
                   "at clocks set with nvidia-smi -ac or -lgc"});
  constexpr double kSameWatts = 1.0;
  if (state.power_limit_w && state.default_power_limit_w &&
      *state.power_limit_w < *state.default_power_limit_w - kSameWatts)
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "power-cap",
         .what = fmt::format("GPU {} is capped at {:.0f} W; its default is {:.0f} W.", gpu.index,
                             *state.power_limit_w, *state.default_power_limit_w),
         .why = "Large matrix products run at lower clocks.",
         .advice = fmt::format("nvidia-smi -i {} -pl {:.0f}", gpu.index, *state.default_power_limit_w)});
  constexpr int kCloseDegrees = 5;
  if (state.temperature_c && state.slowdown_temperature_c &&
      *state.temperature_c >= *state.slowdown_temperature_c - kCloseDegrees)
    findings.push_back({.severity = Severity::Warning,
                        .id = "hot",
                        .what = fmt::format("GPU {} is at {} °C and slows down at {} °C.", gpu.index,
                                            *state.temperature_c, *state.slowdown_temperature_c),
                        .why = "Its clocks will fall within a run.",
                        .advice = "look at fans and air flow"});
}

void examine_memory(const Gpu& gpu, Findings& findings) {
  if (gpu.uncorrected_ecc_errors.value_or(0) > 0)
    findings.push_back(
        {.severity = Severity::Failure,
         .id = "ecc-errors",
         .what = fmt::format("GPU {} had {} memory errors that ECC could not correct.", gpu.index,
                             *gpu.uncorrected_ecc_errors),
         .why = "A job that touches such memory is ended.",
         .advice = "reset the GPU or restart the machine; if they come back, replace the GPU"});
  if (gpu.mig.value_or(false))
    findings.push_back({.severity = Severity::Warning,
                        .id = "mig",
                        .what = fmt::format("GPU {} is cut into instances (MIG).", gpu.index),
                        .why = "Instances have no NVLink and no access to one another.",
                        .advice = fmt::format("nvidia-smi -i {} -mig 0 for a whole GPU", gpu.index)});
  if (!gpu.processes.empty()) {
    std::vector<std::string> names;
    for (const auto& process : gpu.processes)
      names.push_back(process.name.empty() ? fmt::format("{}", process.pid)
                                           : fmt::format("{} {}", process.pid, process.name));
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "gpu-busy",
         .what = fmt::format("Other processes use GPU {}: {}.", gpu.index, fmt::join(names, ", ")),
         .why = "They take its memory and its time; measured times are worth nothing.",
         .advice = "wait for them or end them; ps -fp PID says whose they are"});
    return;
  }
  constexpr std::int64_t kMuch = 2'000'000'000;  // the driver's own share is below it on every GPU so far
  if (gpu.state.memory_used_bytes.value_or(0) > kMuch)
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "gpu-memory-taken",
         .what = fmt::format("{:.1f} GB of GPU {}'s memory are taken, by no process that can be "
                             "seen from here.",
                             static_cast<double>(*gpu.state.memory_used_bytes) / 1e9, gpu.index),
         .why = "Another container or a process that did not end holds them.",
         .advice = "nvidia-smi on the host shows the process"});
}

// The plan cache begins a section's name with that of the GPU (ops/cuda/cuda_context.cpp).
void examine_plans(const Patient& patient, Findings& findings) {
  const auto& planned = patient.around.planned_gpus;
  if (!planned || patient.host.gpus.empty() || !patient.around.cuda_built) return;
  const auto& name = patient.host.gpus.front().name;
  const auto is_ours = [&name](const std::string& section) { return section.starts_with(name + ','); };
  if (std::ranges::any_of(*planned, is_ours)) return;
  findings.push_back(
      {.severity = Severity::Note,
       .id = "plans-unknown",
       .what = fmt::format("runs/cuda_plans.json holds no plans for {}.", name),
       .why = "The first run searches the fastest kernel for every shape before its first "
              "step, and keeps what it finds in this file for later runs from this folder.",
       .advice = "let a short run come first where start-up matters: --set train.max_steps=1"});
}

}  // namespace

void examine_gpus(const Patient& patient, Findings& findings) {
  examine_presence(patient, findings);
  examine_models(patient.host, findings);
  for (const auto& gpu : patient.host.gpus) {
    examine_clocks(gpu, findings);
    examine_memory(gpu, findings);
  }
  examine_plans(patient, findings);
  const auto gpus = static_cast<int>(patient.host.gpus.size());
  if (gpus > 0 && patient.around.ranks > gpus)
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "ranks-above-gpus",
         .what = fmt::format("{} ranks for {} GPU{}.", patient.around.ranks, gpus, gpus == 1 ? "" : "s"),
         .why = "NCCL takes one GPU per rank; the trainer refuses more without gpu.share.",
         .advice = fmt::format("--ranks {}", gpus)});
}

}  // namespace tandem
