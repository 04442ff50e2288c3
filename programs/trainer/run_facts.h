// What a run record says of program, machine and versions.
#pragma once

#include <string>
#include <vector>

#include "comm/rank_group.h"
#include "device/device.h"
#include "report/run_record.h"

namespace tandem {

ProgramRecord program_record();
std::map<std::string, std::string> version_records(DeviceKind device, bool with_mpi);
// One record per host, in order of its first rank. All ranks call together.
std::vector<HostRecord> host_records(const Device& device, RankGroup& group);

// Facts that must be equal on all ranks: the program to the bit, library versions, the configuration.
std::string agreement_facts(const RunRecord& record);

}  // namespace tandem
