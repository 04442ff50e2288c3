// What communication costs a run beyond the waits for it, from the run's control segments.
//
// docs/measuring.md, "What communication costs", derives the formulas. Pure functions; times are
// milliseconds.
#pragma once

#include <cstdint>
#include <optional>

#include "report/measurement_records.h"
#include "report/statistics.h"

namespace tandem {

// Each value is of one pair of neighbouring segments, with and without the all-reduce call; the spread is
// over pairs. Of a step, the rank that ends it last counts.
struct ContentionSummary {
  std::int64_t pairs = 0;
  std::int64_t steps = 0;  // of each segment
  Spread step_on_ms;       // T_on: mean over steps of the longest step over ranks
  Spread step_off_ms;      // T_off: the same without the call
  Spread comm_cost_ms;     // T_on - T_off
  Spread exposed_ms;       // of the rank that the others wait for: whose step less exposed is the longest
  Spread contention_ms;    // comm_cost - exposed: what communication slows compute down by
  Spread skew_cost_ms;  // T_off - the longest mean step over ranks: what waiting for the slowest of each step
                        // costs more than waiting for the slowest on average

  // Zero is not within what the pairs show.
  bool contention_shown() const { return contention_ms.min > 0.0 || contention_ms.max < 0.0; }
  // Compute would be faster with communication than without, by more than T_off itself varies: something is
  // measured wrongly.
  bool contradicts_itself() const {
    return contention_ms.max < 0.0 && -contention_ms.median > step_off_ms.max - step_off_ms.min;
  }
  bool operator==(const ContentionSummary&) const = default;
};

// None without a whole pair.
std::optional<ContentionSummary> summarize_control(const ControlRecord& control);

}  // namespace tandem
