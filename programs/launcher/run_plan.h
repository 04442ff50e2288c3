// In which order a comparison runs what, and how long the rest will take. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct PlannedRun {
  std::size_t link = 0;  // index
  int repeat = 1;        // from 1
  bool operator==(const PlannedRun&) const = default;
};

// Round r runs every link once, beginning with link r modulo their number. A machine that gets warmer or
// busier then slows all links alike instead of the one that happens to come last.
std::vector<PlannedRun> interleaved_runs(std::size_t links, int repeats);

// How long a run will take: as long as the finished ones of its link did on average, or of all links if there
// are none. `seconds` holds the finished runs' by their place in the plan; nothing is known before the first.
std::optional<double> seconds_for_run(std::span<const PlannedRun> plan,
                                      std::span<const std::optional<double>> seconds, std::size_t run);

// What all unfinished runs will take together. With plain numbers, the first runs of the plan are the
// finished ones.
std::optional<double> seconds_for_rest(std::span<const PlannedRun> plan, std::span<const double> finished);
std::optional<double> seconds_for_rest(std::span<const PlannedRun> plan,
                                       std::span<const std::optional<double>> seconds);

}  // namespace tandem
