// How an optimizer walks one range of the flat arrays: segment by segment, leaving padding alone.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/optimizer_update.h"

namespace tandem {

// A piece of a range that lies within one segment. Offsets count from the range's first element.
struct UpdatePiece {
  std::int64_t begin, end;
  float weight_decay;
};

// Throws Error unless the range is fp32 and whole: `states` state arrays, no 16-bit working copy (the CPU
// computes on the master weights), and nothing null among the pointers that an update reads.
void expect_range(std::string_view op, const UpdateRange& range, int states, const StepPointers& pointers);

// Calls `update` for each piece, in ascending order.
void for_each_piece(const std::vector<UpdateSegment>& segments, const UpdateRange& range,
                    const std::function<void(const UpdatePiece&)>& update);

}  // namespace tandem
