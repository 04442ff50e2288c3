// How the steady clocks of the ranks' hosts stand to each other.
#pragma once

#include <vector>

#include "comm/rank_group.h"

namespace tandem {

struct ClockOffset {
  double ms = 0.0;        // this rank's clock less rank 0's
  double error_ms = 0.0;  // the true offset lies within ms +- error_ms
};

// By rank. All ranks call together, between steps. A barrier has one moment at which its last rank arrives,
// and it lies between arrival and departure on each rank's own clock: that bounds the offset, and the
// tightest of a few barriers is kept. Where the host is rank 0's, so is its clock: if the bound allows 0, as
// it does unless two machines bear one name, the offset is 0 without error. Clocks of different hosts may
// drift apart after the call.
std::vector<ClockOffset> measure_clock_offsets(RankGroup& group);

}  // namespace tandem
