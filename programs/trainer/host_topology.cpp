#include "trainer/host_topology.h"

#include <sched.h>

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "machine/gpu_probe.h"
#include "machine/host_probe.h"

namespace tandem {
namespace {

std::string pcie_words(const PcieLink& pcie) {
  const auto generation = pcie.max_generation ? pcie.max_generation : pcie.generation;
  const auto width = pcie.max_width ? pcie.max_width : pcie.width;
  if (!generation || !width) return {};
  return fmt::format("PCIe {} x{}", *generation, *width);
}

// The cores that this process may run on, by the operating system's mask of hardware threads.
std::vector<int> bound_cores(const Host& host) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (const auto& core : host.cores)
    if (std::ranges::any_of(core.hardware_threads, [&mask](int thread) {
          return thread >= 0 && thread < CPU_SETSIZE && CPU_ISSET(thread, &mask);
        }))
      cores.push_back(core.index);
  return cores;
}

// The host as this rank sees it, with this rank alone.
HostTopologyRecord seen_by_this_rank(const Device& device, const RankGroup& group) {
  auto host = probe_host();
  const bool gpu = device.kind() == DeviceKind::Cuda;
  if (gpu) probe_gpus(host);
  auto seen = topology_of(host);
  seen.host = group.host();
  RankPlaceRecord place{.rank = group.rank().value, .cores = bound_cores(host), .gpu = {}};
  for (const auto& one : host.gpus)
    if (gpu && one.pci == device.memory_address()) place.gpu = one.index;
  seen.ranks = {place};
  return seen;
}

}  // namespace

HostTopologyRecord topology_of(const Host& host) {
  HostTopologyRecord topology{.host = host.name};
  for (const auto& node : host.numa_nodes)
    topology.numa_nodes.push_back(
        {.index = node.index, .package = node.package, .memory_bytes = node.memory_bytes});
  for (const auto& core : host.cores)
    topology.cores.push_back({.index = core.index,
                              .numa = core.numa,
                              .hardware_threads = static_cast<int>(core.hardware_threads.size())});
  for (const auto& gpu : host.gpus)
    topology.gpus.push_back({.index = gpu.index,
                             .name = gpu.name,
                             .numa = gpu.numa,
                             .pcie = pcie_words(gpu.pcie),
                             .pcie_route = gpu.pci_route});
  for (const auto& pair : host.gpu_pairs)
    topology.gpu_paths.push_back({.from = pair.from, .to = pair.to, .path = name_of(pair)});
  for (const auto& port : host.ports)
    topology.ports.push_back({.name = port.name, .kind = port.kind, .numa = port.numa});
  return topology;
}

std::vector<HostTopologyRecord> topology_records(const Device& device, RankGroup& group) {
  std::string mine;
  try {
    mine = to_json(seen_by_this_rank(device, group));
  } catch (const Error&) {
    mine.clear();  // the picture is left out, on every rank
  }
  std::vector<HostTopologyRecord> hosts;
  const auto all = group.all_gather(mine);
  if (std::ranges::any_of(all, &std::string::empty)) return hosts;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    auto seen = host_topology_from_json(all[rank], fmt::format("the machine of rank {}", rank));
    const auto known = std::ranges::find(hosts, seen.host, &HostTopologyRecord::host);
    if (known == hosts.end())
      hosts.push_back(std::move(seen));
    else
      known->ranks.push_back(seen.ranks.front());
  }
  return hosts;
}

}  // namespace tandem
