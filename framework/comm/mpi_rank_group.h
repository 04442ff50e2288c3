// Host-side exchanges over MPI.
#pragma once

#include <limits>
#include <memory>

#include "comm/mpi_worker.h"
#include "comm/rank_group.h"

namespace tandem {

// Calls take their place among the communicator's collectives: one made while some are in flight waits for
// them. `bytes_per_call` is how many bytes one MPI call gathers from all ranks together, longer texts take
// several; at most what an int counts. The worker outlives the group.
std::unique_ptr<RankGroup> make_mpi_rank_group(
    MpiWorker& worker, ByteCount bytes_per_call = ByteCount(std::numeric_limits<int>::max()));

}  // namespace tandem
