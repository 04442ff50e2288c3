// The machines of a run from the inside: hosts, memory nodes, cores, GPUs and what joins them, and where the
// ranks sit. Pure functions of a record.
#pragma once

#include <string>
#include <vector>

#include "report/text_table.h"
#include "report/topology_record.h"

namespace tandem {

// `transport` is what was found to carry the bytes. The lines that carried them are marked: those between
// GPUs that hold ranks if NCCL went from GPU to GPU ("P2P"), else a ring through the ranks.
std::string topology_picture(const std::vector<HostTopologyRecord>& hosts, const std::string& transport);

// The two tables below, as HTML.
std::string topology_tables(const std::vector<HostTopologyRecord>& hosts);

TextTable topology_table(const std::vector<HostTopologyRecord>& hosts);  // a row per memory node
TextTable gpu_path_table(const std::vector<HostTopologyRecord>& hosts);  // a row per pair; may be empty

}  // namespace tandem
