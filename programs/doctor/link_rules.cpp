// What joins the GPUs, and whether it carries data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "doctor/rules.h"

namespace tandem {
namespace {

// Below this share of what the link should give, something is wrong rather than slow.
constexpr double kSuspicious = 0.6;

const Gpu* gpu_at(const Host& host, int index) {
  const auto found = std::ranges::find(host.gpus, index, &Gpu::index);
  return found == host.gpus.end() ? nullptr : &*found;
}

std::optional<double> pcie_gb_per_s(std::optional<int> generation, std::optional<int> width) {
  static constexpr std::array kPerLane = {0.0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
  if (!generation || !width || *generation < 1 || *generation >= static_cast<int>(kPerLane.size()))
    return std::nullopt;
  return kPerLane[static_cast<std::size_t>(*generation)] * *width;
}

double nvlink_gb_per_s(int generation) {
  if (generation <= 1) return 20.0;
  return generation >= 5 ? 50.0 : 25.0;
}

void examine_nvlinks(const Host& host, Findings& findings) {
  for (const auto& gpu : host.gpus) {
    std::vector<int> dead;
    std::vector<std::string> faulty;
    for (const auto& link : gpu.nvlinks) {
      if (!link.active) dead.push_back(link.index);
      const auto errors = link.replay_errors.value_or(0) + link.recovery_errors.value_or(0);
      if (errors > 0) faulty.push_back(fmt::format("link {}: {}", link.index, errors));
    }
    if (!dead.empty() && host.gpus.size() > 1)
      findings.push_back(
          {.severity = Severity::Warning,
           .id = "nvlink-down",
           .what =
               dead.size() == gpu.nvlinks.size()
                   ? fmt::format("GPU {} has {} NVLinks, and none is active.", gpu.index, dead.size())
                   : fmt::format("NVLink {} of GPU {} is down; {} of {} are active.", fmt::join(dead, ", "),
                                 gpu.index, gpu.nvlinks.size() - dead.size(), gpu.nvlinks.size()),
           .why = "Every all-reduce is as slow as the narrowest place of the ring.",
           .advice =
               "nvidia-smi nvlink -s; on machines with NVSwitch the service nvidia-fabricmanager must run; "
               "else reset the GPUs, and look for Xid 74 in dmesg"});
    if (!faulty.empty())
      findings.push_back({.severity = Severity::Warning,
                          .id = "nvlink-errors",
                          .what = fmt::format("NVLinks of GPU {} repeated or recovered transfers ({}).",
                                              gpu.index, fmt::join(faulty, ", ")),
                          .why =
                              "Each costs time; growing numbers tell of a bad contact before the link goes "
                              "down.",
                          .advice = "nvidia-smi nvlink -e, and again after a run: do they grow?"});
  }
}

void examine_pcie(const Patient& patient, Findings& findings) {
  for (const auto& gpu : patient.host.gpus) {
    const auto loaded = std::ranges::find(patient.measured.pcie, gpu.index, &PcieUnderLoad::gpu);
    const bool measured = loaded != patient.measured.pcie.end();
    const auto width = measured && loaded->width ? loaded->width : gpu.pcie.width;
    if (width && gpu.pcie.max_width && *width < *gpu.pcie.max_width)
      findings.push_back({.severity = Severity::Warning,
                          .id = "pcie-narrow",
                          .what = fmt::format("GPU {} has {} of {} PCIe lanes{}.", gpu.index, *width,
                                              *gpu.pcie.max_width, measured ? ", under load" : ""),
                          .why = "Batches, and gradients that go through host memory, take that much longer.",
                          .advice = "seat the GPU again, or use a slot with more lanes"});
    // Without load a GPU lowers the generation to save power, so only load tells.
    if (measured && loaded->generation && gpu.pcie.max_generation &&
        *loaded->generation < *gpu.pcie.max_generation)
      findings.push_back({.severity = Severity::Warning,
                          .id = "pcie-slow",
                          .what = fmt::format("GPU {} runs PCIe {} under load; it and its slot can do {}.",
                                              gpu.index, *loaded->generation, *gpu.pcie.max_generation),
                          .why = "Each generation has half the bandwidth of the next.",
                          .advice = "look at the slot's setting in the firmware, and at riser cables"});
  }
  const auto unknown = [](const GpuPair& pair) { return pair.pcie_path == Path::Unknown; };
  if (!patient.host.gpu_pairs.empty() && std::ranges::all_of(patient.host.gpu_pairs, unknown))
    findings.push_back(
        {.severity = Severity::Note,
         .id = "topology-unknown",
         .what = "The system does not tell how PCIe joins the GPUs.",
         .why = "In virtual machines NCCL then guesses, and may choose a poor path "
                "(NVIDIA/nccl#428).",
         .advice = "compare links with launcher bench; NCCL_TOPO_FILE gives NCCL the topology"});
}

std::string direction(const PeerTest& test) {
  return fmt::format("GPU {} to GPU {}", test.from, test.to);
}

std::string peer_advice(const Surroundings& around) {
  return fmt::format("{}; until then, comm.link: pcie goes through host memory and is right",
                     around.iommu
                         ? "switch the IOMMU off (kernel parameter intel_iommu=off or amd_iommu=off) or "
                           "PCIe ACS in the firmware, which sends peers' transfers through it"
                         : "switch PCIe ACS off in the firmware, or update the driver");
}

void examine_peer(const Patient& patient, const PeerTest& test, Findings& findings) {
  const auto& pair = pair_of(patient.host, test.from, test.to);
  if (!test.wrong.empty()) {
    findings.push_back({.severity = Severity::Failure,
                        .id = "peer-data",
                        .what = fmt::format("What {} wrote did not arrive: {}.", direction(test), test.wrong),
                        .why =
                            "The driver offers the access, and the data are wrong: training would go on with "
                            "wrong gradients (NVIDIA/nccl-tests#117).",
                        .advice = peer_advice(patient.around)});
    return;
  }
  if (!test.access) {
    findings.push_back(
        {.severity = pair.path == Path::NvLink ? Severity::Failure : Severity::Warning,
         .id = "peer-access",
         .what = fmt::format("The driver offers no access from {} ({}).", direction(test), name_of(pair)),
         .why = "All they exchange goes through host memory.",
         .advice = pair.path == Path::NvLink
                       ? "the NVLinks are there: look for nvidia-fabricmanager, MIG and CUDA_VISIBLE_DEVICES"
                       : "usual for GPUs without NVLink on two sockets, and for most consumer GPUs"});
    return;
  }
  const auto nominal = nominal_gb_per_s(patient.host, pair);
  if (!nominal || !test.gb_per_s || *test.gb_per_s >= kSuspicious * *nominal) return;
  findings.push_back({.severity = Severity::Warning,
                      .id = "peer-slow",
                      .what = fmt::format("{} carries {:.1f} GB/s; {} should give about {:.0f}.",
                                          direction(test), *test.gb_per_s, name_of(pair), *nominal),
                      .why = "A ring is as fast as its slowest pair.",
                      .advice = "look at the link's findings above, at other processes on these GPUs, and at "
                                "PCIe ACS"});
}

void examine_peers(const Patient& patient, Findings& findings) {
  if (!patient.measured.unfinished.empty())
    findings.push_back({.severity = Severity::Failure,
                        .id = "peer-hang",
                        .what = fmt::format("The test of {} did not end.", patient.measured.unfinished),
                        .why = "NCCL would hang at the same place, without a word (NVIDIA/nccl#606, #2079).",
                        .advice = peer_advice(patient.around)});
  for (const auto& test : patient.measured.peers) examine_peer(patient, test, findings);
}

}  // namespace

std::optional<double> nominal_gb_per_s(const Host& host, const GpuPair& pair) {
  const auto* from = gpu_at(host, pair.from);
  const auto* to = gpu_at(host, pair.to);
  if (from == nullptr || to == nullptr) return std::nullopt;
  if (pair.path == Path::NvLink) {
    const auto generation = from->nvlinks.empty() ? std::nullopt : from->nvlinks.front().generation;
    return generation ? std::optional(pair.nvlinks * nvlink_gb_per_s(*generation)) : std::nullopt;
  }
  const auto one = pcie_gb_per_s(from->pcie.max_generation, from->pcie.width);
  const auto other = pcie_gb_per_s(to->pcie.max_generation, to->pcie.width);
  return one && other ? std::optional(std::min(*one, *other)) : std::nullopt;
}

void examine_links(const Patient& patient, Findings& findings) {
  examine_nvlinks(patient.host, findings);
  examine_pcie(patient, findings);
  examine_peers(patient, findings);
}

}  // namespace tandem
