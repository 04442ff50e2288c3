// How well a run uses its machines and what that costs: throughput, MFU, energy, money. From the record
// alone.
//
// docs/measuring.md, "Throughput, energy and cost", derives the formulas. Pure functions.
#pragma once

#include <optional>

#include "report/run_record.h"

namespace tandem {

// Of an epoch: the median over the epochs that stand for the run. A value without which another cannot be
// computed is missing in both.
struct RunEconomy {
  std::optional<double> items_per_s;           // over all ranks, without evaluation and checkpoints
  std::optional<double> items_per_s_per_rank;  // that over the number of ranks
  std::optional<double> flops_utilization;     // MFU: useful operations per second over the stated peak
  std::optional<double> training_j_per_item;   // energy outside evaluation and checkpoints
  std::optional<double> kwh_per_epoch;         // evaluation and checkpoints included, as in the epoch's time
  std::optional<double> rank_time_cost;        // per epoch, in the currency of the record
  std::optional<double> energy_cost;           // likewise
  std::optional<double> epoch_cost;            // of all that has a price; none if one of the parts is unknown
};

RunEconomy economy_of(const RunRecord& record);

// Program's start to the end of the first step, in seconds; none if the first step was not measured. The rank
// whose first step was the longest counts.
std::optional<double> seconds_to_first_step(const RunRecord& record);

}  // namespace tandem
