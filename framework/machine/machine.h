// What a machine is made of: cores and memory nodes, GPUs, network ports, and what joins the GPUs.
//
// Plain values, no ownership, no threads: probes fill them (host_probe.h, gpu_probe.h), JSON carries them
// (machine_json.h), and everything that judges or draws a machine is a pure function of them, so that it can
// be tested with machines that are not here. An optional without value means that the system does not tell.
// Bytes are bytes, clocks MHz, powers W, temperatures °C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct Core {
  int index = 0;                      // among the host's cores that this process may use, from 0
  int package = 0;                    // socket
  int numa = 0;                       // index of the NumaNode whose memory is near
  std::vector<int> hardware_threads;  // as the operating system numbers them
  bool operator==(const Core&) const = default;
};

struct NumaNode {
  int index = 0;  // as the operating system numbers them
  int package = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const NumaNode&) const = default;
};

// From node `from` to the memory of node `to`, in ACPI's units: 10 is local memory.
struct NumaDistance {
  int from = 0;
  int to = 0;
  int distance = 10;
  bool operator==(const NumaDistance&) const = default;
};

struct NetworkPort {
  std::string name;  // "eth0", "mlx5_0"
  std::string kind;  // "ethernet" or "infiniband"
  std::string pci;
  std::optional<int> numa;
  bool operator==(const NetworkPort&) const = default;
};

struct PcieLink {
  std::optional<int> generation;  // now; a GPU without work lowers it
  std::optional<int> max_generation;
  std::optional<int> width;  // lanes
  std::optional<int> max_width;
  bool operator==(const PcieLink&) const = default;
};

// One NVLink of one GPU. Errors count since the driver was loaded.
struct NvLink {
  int index = 0;
  bool active = false;
  std::optional<int> generation;  // 4 on Hopper
  std::string remote_kind;        // "gpu", "switch" or "" if the driver does not tell
  std::string remote_pci;
  std::optional<std::int64_t> replay_errors;
  std::optional<std::int64_t> recovery_errors;
  std::optional<std::int64_t> crc_errors;
  bool operator==(const NvLink&) const = default;
};

struct GpuProcess {
  int pid = 0;
  std::string name;                          // "" if it runs in another container
  std::optional<std::int64_t> memory_bytes;  // of the GPU
  bool operator==(const GpuProcess&) const = default;
};

struct GpuState {
  std::optional<int> sm_clock_mhz;
  std::optional<int> max_sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<int> max_memory_clock_mhz;
  std::vector<std::string> throttle_reasons;  // "power cap", "thermal slowdown (hardware)", …; idle is none
  std::optional<int> temperature_c;
  std::optional<int> slowdown_temperature_c;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> default_power_limit_w;
  std::optional<std::int64_t> memory_used_bytes;
  bool operator==(const GpuState&) const = default;
};

struct Gpu {
  int index = 0;  // the driver's (nvidia-smi), whatever CUDA_VISIBLE_DEVICES says
  std::string name;
  std::string uuid;
  std::string pci;  // "0000:19:00.0"
  // What lies between it and the processor, from the host bridge on: "pci0000:17", "0000:17:01.0", …; empty
  // if the system does not tell.
  std::vector<std::string> pci_route;
  std::optional<int> numa;  // node that it is attached to
  std::int64_t memory_bytes = 0;
  std::optional<bool> ecc;
  std::optional<std::int64_t> uncorrected_ecc_errors;  // since the driver was loaded
  std::optional<bool> mig;                             // cut into instances
  PcieLink pcie;
  GpuState state;
  std::vector<NvLink> nvlinks;  // those that the GPU has, active or not
  std::vector<GpuProcess> processes;
  bool operator==(const Gpu&) const = default;
};

// What joins two GPUs, best first, in the words of `nvidia-smi topo -m`.
enum class Path {
  NvLink,   // NV#: that many NVLinks, direct or through switches
  Pix,      // at most one PCIe bridge
  Pxb,      // several PCIe bridges, no host bridge
  Phb,      // a PCIe host bridge
  Node,     // several host bridges of one NUMA node
  Sys,      // the link between NUMA nodes
  Unknown,  // the system does not tell, as in many virtual machines
};

struct GpuPair {
  int from = 0;  // index of a Gpu, below `to`
  int to = 0;
  Path path = Path::Unknown;
  int nvlinks = 0;                 // active ones between the two, direct or through switches
  Path pcie_path = Path::Unknown;  // what would join them without NVLink
  bool operator==(const GpuPair&) const = default;
};

struct Host {
  std::string name;
  std::string system;      // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  std::string processor;   // as the processor calls itself
  std::string container;   // "docker", "podman", …; "" if none was recognised
  std::string hypervisor;  // "KVM", "hypervisor"; "" on bare metal
  int packages = 1;
  std::int64_t memory_bytes = 0;
  std::vector<NumaNode> numa_nodes;
  std::vector<NumaDistance> numa_distances;
  std::vector<Core> cores;
  std::vector<NetworkPort> ports;
  std::string driver;                  // of the GPUs, "580.65.06"; "" if none is loaded
  std::string driver_cuda;             // the newest CUDA that it supports, "13.0"
  std::string no_gpu_reason;           // why `gpus` is empty, in words
  std::vector<std::string> lost_gpus;  // that the driver counts and cannot reach, and why
  std::vector<Gpu> gpus;
  std::vector<GpuPair> gpu_pairs;  // every pair once
  bool operator==(const Host&) const = default;
};

struct Machine {
  static constexpr const char* kSchema = "tandem.machine/2";

  std::vector<Host> hosts;  // at least one
  bool operator==(const Machine&) const = default;
};

// "NV18", "PIX", …, "?"
std::string name_of(const GpuPair& pair);
std::string_view name_of(Path path);  // "NV", "PIX", …, "?"

// The pair of two different GPUs, in either order. Throws Error if there is none.
const GpuPair& pair_of(const Host& host, int gpu, int other);

int hardware_threads(const Host& host);

// None if the system does not tell.
std::optional<int> numa_distance(const Host& host, int from, int to);

}  // namespace tandem
