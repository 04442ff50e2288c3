// Times collectives as nccl-tests does, over whatever Communicator the trainer would use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench_record.h"
#include "comm/comm_setup.h"
#include "device/device.h"

namespace tandem {

struct MeasurementOptions {
  std::int64_t max_bytes = 32 << 20;
  int factor = 4;                  // from one size to the next, from 8 bytes on
  double seconds_per_point = 0.2;  // about as long; at least three and at most 1,000 iterations
};

// What a measurement works with. Nothing is owned.
struct MeasuredLink {
  Device& device;
  Communicator& communicator;
  RankGroup& ranks;
  Allocator& memory;  // of the buffer: the communicator's own where buffers can be registered with it
};

// 8 bytes, times the factor up to `max_bytes`, which is the last size in any case.
std::vector<std::int64_t> sizes_to_measure(const MeasurementOptions& options);

// All ranks call together, with the same options. Fills latency, rate and points; the same on every rank.
//
// Per point: the result of one call is checked element by element against its exact sum; then, after a few
// calls that set connections up, calls are enqueued one behind the other on one stream, and the time from the
// first to the end of the last, on the host's clock, is divided by their number. Buffers hold zeros then:
// sums in place would overflow. The mean over ranks counts.
void measure_collectives(const MeasuredLink& link, const MeasurementOptions& options, BenchRun& run);

}  // namespace tandem
