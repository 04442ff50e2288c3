// The Communicator of GPU ranks, one GPU each: NCCL.
#pragma once

#include <chrono>
#include <memory>

#include "comm/communicator.h"
#include "comm/nccl_versions.h"
#include "comm/rank_group.h"
#include "comm/watchdog.h"
#include "device/cuda/cuda_device.h"

namespace tandem {

struct NcclOptions {
  int max_ctas =
      0;  // blocks of a collective's kernel, each of which takes a multiprocessor; 0: NCCL's choice
  std::chrono::milliseconds timeout{std::chrono::minutes(2)};  // of the start, and of every call that polls
  bool register_memory = false;  // what gradient_memory gives is registered with the communicator
};

// Destroyed from the last member to the first, after the buffers and graphs that hold what they gave.
struct NcclRanks {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Allocator> gradient_memory;  // GPU memory that NCCL may share between ranks (ncclMemAlloc)
};

// Made by all ranks together: rank 0's unique id travels through `group`. The communicator is non-blocking:
// its start and every call are polled to an end or to the timeout, so a lost peer is an Error and no hang.
// Collectives are enqueued on the given stream and may be captured in a CUDA graph. The destructor aborts
// after a failure and otherwise finalizes; graphs that hold its collectives must be gone before.
//
// Before and after each collective the stream writes a word (comm/stream_flight.h) that `watchdog` follows: a
// collective that runs for longer than its timeout, or an error that NCCL found in the background, ends the
// process with a report. The watchdog outlives what is returned. Throws Error if the library that was loaded
// is not the one that was compiled against.
NcclRanks make_nccl_ranks(CudaDevice& device, RankGroup& group, Watchdog& watchdog,
                          const NcclOptions& options);

NcclVersions nccl_versions();

}  // namespace tandem
