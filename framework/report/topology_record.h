// What a host of a run is made of, as far as a picture of it needs: memory nodes, cores, GPUs, what joins
// them, and where the ranks sit.
//
// Plain values; docs/run_record.md documents each field. Made by the trainer from what the machine says of
// itself; an optional without value means that it does not say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct NumaNodeRecord {
  int index = 0;
  int package = 0;  // socket
  std::int64_t memory_bytes = 0;
  bool operator==(const NumaNodeRecord&) const = default;
};

struct CoreRecord {
  int index = 0;
  int numa = 0;  // index of a NumaNodeRecord
  int hardware_threads = 1;
  bool operator==(const CoreRecord&) const = default;
};

struct GpuRecord {
  int index = 0;
  std::string name;
  std::optional<int> numa;
  std::string pcie;                     // "PCIe 5 x16"; empty: not told
  std::vector<std::string> pcie_route;  // bridges from the host bridge to the last before it; empty: not told
  bool operator==(const GpuRecord&) const = default;
};

// What joins two GPUs, in the words of `nvidia-smi topo -m`: "NV18", "PIX", …, "?".
struct GpuPathRecord {
  int from = 0;
  int to = 0;
  std::string path;
  bool operator==(const GpuPathRecord&) const = default;
};

struct NetworkPortRecord {
  std::string name;
  std::string kind;  // "ethernet" or "infiniband"
  std::optional<int> numa;
  bool operator==(const NetworkPortRecord&) const = default;
};

struct RankPlaceRecord {
  int rank = 0;
  std::vector<int> cores;  // indices of those it may run on
  std::optional<int> gpu;
  bool operator==(const RankPlaceRecord&) const = default;
};

struct HostTopologyRecord {
  std::string host;
  std::vector<NumaNodeRecord> numa_nodes;
  std::vector<CoreRecord> cores;
  std::vector<GpuRecord> gpus;
  std::vector<GpuPathRecord> gpu_paths;  // every pair once
  std::vector<NetworkPortRecord> ports;
  std::vector<RankPlaceRecord> ranks;
  bool operator==(const HostTopologyRecord&) const = default;
};

// In which ranks send each other their hosts. The reader throws InputError as a run record's does, naming
// `file`.
std::string to_json(const HostTopologyRecord& host);
HostTopologyRecord host_topology_from_json(std::string_view text, const std::string& file);

}  // namespace tandem
