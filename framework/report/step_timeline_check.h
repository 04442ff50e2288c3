// Whether timelines of steps can be drawn: the part of a run record's consistency that is about them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/step_timeline_record.h"

namespace tandem {

struct TimelineFault {
  std::string field;  // below the array of steps: "[0].ranks[1].end_ms"
  std::string expected;
  std::string found;
};

// What the record says elsewhere of the run that the timelines are of.
struct TimelineSizes {
  int world_size = 1;
  std::size_t buckets = 0;
  std::size_t recomputed = 0;  // blocks
};

// None if steps ascend, each has all ranks in order, arrays are as long as they must be, and no stamp lies
// before one that it follows.
std::optional<TimelineFault> find_fault(const std::vector<StepTimelineRecord>& steps,
                                        const TimelineSizes& sizes);

}  // namespace tandem
