// This host's cores, memory nodes and network ports, as hwloc and the kernel describe them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace tandem {

// Only what this process may use: hwloc leaves out what a control group forbids. GPUs are left empty. Throws
// Error if hwloc cannot read the topology.
Host probe_host();

// The NUMA node that a PCI device ("0000:19:00.0") is attached to; none if the kernel does not tell, as in
// many virtual machines.
std::optional<int> numa_node_of_pci(const std::string& pci);

// The bridges that a PCI device hangs from, from the host bridge ("pci0000:17") to the last before the
// device; empty if there is no such device. `devices` is the kernel's folder of links to all of them.
std::vector<std::string> pci_route(const std::string& pci,
                                   const std::filesystem::path& devices = "/sys/bus/pci/devices");

// "docker", "podman", "kubernetes", "lxc", or what the container calls itself; "" if none was recognised.
std::string container_kind();

}  // namespace tandem
