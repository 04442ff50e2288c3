// How fast messages travel between two CPU ranks of a job.
#pragma once

#include "comm/communicator.h"
#include "core/dtype.h"

namespace tandem {

class MpiWorker;  // mpi_worker.h

struct PairTimes {
  double latency_us = 0.0;      // half of the round trip of 8 bytes: median
  double gb_per_s = 0.0;        // large messages from the first rank to the second, in 1e9 bytes per second
  double both_gb_per_s = 0.0;   // both directions at once, summed
  double messages_per_s = 0.0;  // 8 bytes each from the first to the second, 64 on their way at once
};

struct PairRequest {
  Rank from;
  Rank to;
  ByteCount large{4 << 20};
  int rounds = 200;  // of small messages
  int large_rounds = 12;
};

// All ranks of the job call together; the two exchange messages while the others wait, and every rank gets
// the times that `from` measured. Uses MPI's blocking calls, which spin: what is measured is the link and not
// how a worker waits. Blocks the calling thread. Throws Error for a pair that is not one.
PairTimes measure_pair(MpiWorker& worker, const PairRequest& request);

}  // namespace tandem
