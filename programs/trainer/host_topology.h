// What the hosts of a job are made of, for its record.
#pragma once

#include <vector>

#include "comm/rank_group.h"
#include "device/device.h"
#include "machine/machine.h"
#include "report/topology_record.h"

namespace tandem {

// The drawable part of `host`, without ranks.
HostTopologyRecord topology_of(const Host& host);

// One per host, in the order of host_records(), with its ranks. All ranks call together. A machine that does
// not tell what it is made of is no reason not to train: then it is empty.
std::vector<HostTopologyRecord> topology_records(const Device& device, RankGroup& group);

}  // namespace tandem
