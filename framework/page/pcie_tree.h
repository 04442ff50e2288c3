// How the GPUs of a host hang from its PCIe bridges: the host bridges, and below them the bridges at which
// ways to GPUs part (switches, as a rule). Pure functions of a record. Internal to this library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/topology_record.h"

namespace tandem {

struct PcieNode {
  std::string bridge;                 // "pci0000:17", a host bridge; "0000:18:00.0", a bridge below one
  std::size_t level = 0;              // 0 for host bridges
  std::optional<std::size_t> parent;  // index of a node
  std::size_t first = 0;              // of PcieTree::gpus, those below this node
  std::size_t last = 0;               // beyond the last of them
};

struct PcieTree {
  std::vector<int> gpus;        // by index of GpuRecord, so that those of a node stand side by side
  std::vector<PcieNode> nodes;  // parents before what is below them; empty if a GPU does not tell its route
  std::size_t levels = 0;
};

PcieTree pcie_tree(const HostTopologyRecord& host);

// The innermost node above a GPU. REQUIRES nodes, and `place` an index into gpus.
std::size_t node_above(const PcieTree& tree, std::size_t place);

}  // namespace tandem
