// The fields of a host's topology in a run record. Internal to this library.
#pragma once

#include "report/json_fields.h"
#include "report/topology_record.h"

namespace tandem {

template <class Visitor, SameAs<NumaNodeRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("package", x.package);
  field("memory_bytes", x.memory_bytes);
}

template <class Visitor, SameAs<CoreRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("numa", x.numa);
  field("hardware_threads", x.hardware_threads);
}

template <class Visitor, SameAs<GpuRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("name", x.name);
  field("numa", x.numa);
  field("pcie", x.pcie);
  field("pcie_route", x.pcie_route);
}

template <class Visitor, SameAs<GpuPathRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("from", x.from);
  field("to", x.to);
  field("path", x.path);
}

template <class Visitor, SameAs<NetworkPortRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("kind", x.kind);
  field("numa", x.numa);
}

template <class Visitor, SameAs<RankPlaceRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("rank", x.rank);
  field("cores", x.cores);
  field("gpu", x.gpu);
}

template <class Visitor, SameAs<HostTopologyRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("host", x.host);
  field("numa_nodes", x.numa_nodes);
  field("cores", x.cores);
  field("gpus", x.gpus);
  field("gpu_paths", x.gpu_paths);
  field("ports", x.ports);
  field("ranks", x.ranks);
}

// From files of versions that did not know how GPUs hang from bridges. `file` has the hosts as "topology".
inline void add_pcie_routes(Json& file) {
  if (!file.contains("topology") || !file["topology"].is_array()) return;  // told by the reader
  for (auto& host : file["topology"]) {
    if (!host.is_object() || !host.contains("gpus") || !host["gpus"].is_array()) continue;
    for (auto& gpu : host["gpus"])
      if (gpu.is_object()) gpu["pcie_route"] = Json::array();
  }
}

}  // namespace tandem
