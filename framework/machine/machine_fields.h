// The fields of every struct of a machine, in the order of the file. For .cpp files that write JSON.
#pragma once

#include <array>

#include "machine/machine.h"
#include "report/json_fields.h"

namespace tandem {

template <>
struct JsonForm<Path> {
  static constexpr std::array kAll = {Path::NvLink, Path::Pix, Path::Pxb,    Path::Phb,
                                      Path::Node,   Path::Sys, Path::Unknown};
  static Json write(Path value) { return std::string(name_of(value)); }
  static void read(const JsonPlace& place, Path& value) {
    std::string name;
    JsonForm<std::string>::read(place, name);
    for (const Path path : kAll) {
      if (name_of(path) != name) continue;
      value = path;
      return;
    }
    place.fail("There is no such path between GPUs.", "NV, PIX, PXB, PHB, NODE, SYS or ?");
  }
};

template <class Visitor, SameAs<Core> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("package", x.package);
  field("numa", x.numa);
  field("hardware_threads", x.hardware_threads);
}

template <class Visitor, SameAs<NumaNode> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("package", x.package);
  field("memory_bytes", x.memory_bytes);
}

template <class Visitor, SameAs<NumaDistance> T>
void visit_fields(Visitor&& field, T& x) {
  field("from", x.from);
  field("to", x.to);
  field("distance", x.distance);
}

template <class Visitor, SameAs<NetworkPort> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("kind", x.kind);
  field("pci", x.pci);
  field("numa", x.numa);
}

template <class Visitor, SameAs<PcieLink> T>
void visit_fields(Visitor&& field, T& x) {
  field("generation", x.generation);
  field("max_generation", x.max_generation);
  field("width", x.width);
  field("max_width", x.max_width);
}

template <class Visitor, SameAs<NvLink> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("active", x.active);
  field("generation", x.generation);
  field("remote_kind", x.remote_kind);
  field("remote_pci", x.remote_pci);
  field("replay_errors", x.replay_errors);
  field("recovery_errors", x.recovery_errors);
  field("crc_errors", x.crc_errors);
}

template <class Visitor, SameAs<GpuProcess> T>
void visit_fields(Visitor&& field, T& x) {
  field("pid", x.pid);
  field("name", x.name);
  field("memory_bytes", x.memory_bytes);
}

template <class Visitor, SameAs<GpuState> T>
void visit_fields(Visitor&& field, T& x) {
  field("sm_clock_mhz", x.sm_clock_mhz);
  field("max_sm_clock_mhz", x.max_sm_clock_mhz);
  field("memory_clock_mhz", x.memory_clock_mhz);
  field("max_memory_clock_mhz", x.max_memory_clock_mhz);
  field("throttle_reasons", x.throttle_reasons);
  field("temperature_c", x.temperature_c);
  field("slowdown_temperature_c", x.slowdown_temperature_c);
  field("power_w", x.power_w);
  field("power_limit_w", x.power_limit_w);
  field("default_power_limit_w", x.default_power_limit_w);
  field("memory_used_bytes", x.memory_used_bytes);
}

template <class Visitor, SameAs<Gpu> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("name", x.name);
  field("uuid", x.uuid);
  field("pci", x.pci);
  field("pci_route", x.pci_route);
  field("numa", x.numa);
  field("memory_bytes", x.memory_bytes);
  field("ecc", x.ecc);
  field("uncorrected_ecc_errors", x.uncorrected_ecc_errors);
  field("mig", x.mig);
  field("pcie", x.pcie);
  field("state", x.state);
  field("nvlinks", x.nvlinks);
  field("processes", x.processes);
}

template <class Visitor, SameAs<GpuPair> T>
void visit_fields(Visitor&& field, T& x) {
  field("from", x.from);
  field("to", x.to);
  field("path", x.path);
  field("nvlinks", x.nvlinks);
  field("pcie_path", x.pcie_path);
}

template <class Visitor, SameAs<Host> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("system", x.system);
  field("processor", x.processor);
  field("container", x.container);
  field("hypervisor", x.hypervisor);
  field("packages", x.packages);
  field("memory_bytes", x.memory_bytes);
  field("numa_nodes", x.numa_nodes);
  field("numa_distances", x.numa_distances);
  field("cores", x.cores);
  field("ports", x.ports);
  field("driver", x.driver);
  field("driver_cuda", x.driver_cuda);
  field("no_gpu_reason", x.no_gpu_reason);
  field("lost_gpus", x.lost_gpus);
  field("gpus", x.gpus);
  field("gpu_pairs", x.gpu_pairs);
}

template <class Visitor, SameAs<Machine> T>
void visit_fields(Visitor&& field, T& x) {
  field("hosts", x.hosts);
}

}  // namespace tandem
