// What tables and comparisons say about a run, computed from its record alone. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.h"

namespace tandem {

// One quantity of the step over the measured steps (those after warm-up).
struct QuantitySummary {
  std::string name;
  Statistics steps;                     // over the steps of all ranks, in milliseconds
  double slowest_rank_mean_ms = 0.0;    // max over ranks of the mean over steps
  std::optional<double> share_of_step;  // sum / sum of steps, over all ranks
};

// The disjoint parts of a step among the names of quantities, in their order.
inline constexpr std::array<const char*, 6> kPartsOfStep = {
    "data wait", "forward", "backward", "communication, exposed", "optimizer", "other"};

struct RunSummary {
  std::int64_t measured_steps = 0;          // per rank
  std::vector<QuantitySummary> quantities;  // in the order of the step; unrecorded ones are left out
  std::optional<double> exposed_share;      // communication share, exposed
  std::optional<double> busy_share;         // communication share, busy
  std::optional<double> overlap_ratio;
  std::optional<double> unaccounted_share;  // of the step, over all ranks
  std::optional<double> bus_gb_per_s_in_training;
};

RunSummary summarize(const RunRecord& record);

// What every row and page that shows this run must say about it: "paced to 1 Gbit/s + 50 us", "emulated link,
// 8 ranks, …", "not training". Empty for an ordinary run.
std::vector<std::string> caveats(const RunRecord& record);

// Bytes that are all-reduced per optimizer step, however many micro-steps it has; 0 for a rank alone.
std::int64_t reduced_bytes_per_step(const RunRecord& record);
// The number of ranks in the all-reduce: the emulated one where there is one.
int ranks_in_all_reduce(const RunRecord& record);

// Training throughput of an epoch: evaluation and checkpoints are not in the time.
std::optional<double> items_per_s(const EpochRecord& epoch);

// What the parts of the step, evaluation and checkpoints leave of the epoch's wall time, as a share of it, on
// the rank with the largest sum. None if its steps were not recorded.
std::optional<double> unaccounted_share(const RunRecord& record, const EpochRecord& epoch);

// Epochs that stand for the run: the whole ones but the first, which holds warm-up, or that one if it is the
// only one. If there is none, the last epoch extrapolated to a whole one: its steps at the pace of the
// measured ones, energy in proportion, evaluation and checkpoints as they were.
std::vector<EpochRecord> representative_epochs(const RunRecord& record);
// The number of steps that such an epoch rests on; none if the run has a whole epoch.
std::optional<std::int64_t> extrapolated_from_steps(const RunRecord& record);

}  // namespace tandem
