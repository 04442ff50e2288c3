// The fields of the facts, in the order of the file. For .cpp files that write JSON.
#pragma once

#include "doctor/facts.h"
#include "report/json_fields.h"

namespace tandem {

template <class Visitor, SameAs<LibraryVersion> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("header", x.header);
  field("loaded", x.loaded);
  field("path", x.path);
  field("copies", x.copies);
}

template <class Visitor, SameAs<NcclFile> T>
void visit_fields(Visitor&& field, T& x) {
  field("path", x.path);
  field("settings", x.settings);
}

template <class Visitor, SameAs<RankView> T>
void visit_fields(Visitor&& field, T& x) {
  field("rank", x.rank);
  field("world_size", x.world_size);
  field("host", x.host);
  field("hardware_threads", x.hardware_threads);
  field("devices", x.devices);
}

template <class Visitor, SameAs<Surroundings> T>
void visit_fields(Visitor&& field, T& x) {
  field("variables", x.variables);
  field("nccl_files", x.nccl_files);
  field("shm_bytes", x.shm_bytes);
  field("shm_free_bytes", x.shm_free_bytes);
  field("locked_memory_bytes", x.locked_memory_bytes);
  field("open_files", x.open_files);
  field("load", x.load);
  field("cross_memory_attach", x.cross_memory_attach);
  field("iommu", x.iommu);
  field("temp_folder", x.temp_folder);
  field("temp_folder_fault", x.temp_folder_fault);
  field("bridges", x.bridges);
  field("srun_mpi", x.srun_mpi);
  field("planned_gpus", x.planned_gpus);
  field("mpirun", x.mpirun);
  field("mpirun_path", x.mpirun_path);
  field("cuda_built", x.cuda_built);
  field("probe_failure", x.probe_failure);
  field("libraries", x.libraries);
  field("ranks", x.ranks);
}

template <class Visitor, SameAs<PeerTest> T>
void visit_fields(Visitor&& field, T& x) {
  field("from", x.from);
  field("to", x.to);
  field("access", x.access);
  field("wrong", x.wrong);
  field("gb_per_s", x.gb_per_s);
  field("both_gb_per_s", x.both_gb_per_s);
  field("sm_gb_per_s", x.sm_gb_per_s);
}

template <class Visitor, SameAs<PcieUnderLoad> T>
void visit_fields(Visitor&& field, T& x) {
  field("gpu", x.gpu);
  field("generation", x.generation);
  field("width", x.width);
  field("to_device_gb_per_s", x.to_device_gb_per_s);
  field("to_host_gb_per_s", x.to_host_gb_per_s);
}

template <class Visitor, SameAs<ProbeFacts> T>
void visit_fields(Visitor&& field, T& x) {
  field("cuda_built", x.cuda_built);
  field("cross_memory_attach", x.cross_memory_attach);
  field("libraries", x.libraries);
}

template <class Visitor, SameAs<Measurements> T>
void visit_fields(Visitor&& field, T& x) {
  field("peers_tested", x.peers_tested);
  field("peers", x.peers);
  field("pcie", x.pcie);
  field("unfinished", x.unfinished);
  field("ranks_started", x.ranks_started);
  field("ranks", x.ranks);
  field("ranks_failure", x.ranks_failure);
}

}  // namespace tandem
