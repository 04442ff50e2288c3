// The parts of a run record that hold what a run measured, and what turns it into money and efficiency.
// docs/run_record.md documents each field. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/statistics.h"
#include "report/step_quantities.h"

namespace tandem {

struct StartupPhaseRecord {
  std::string phase;
  double ms = 0.0;
  bool operator==(const StartupPhaseRecord&) const = default;
};

// Samples of one rank, one per step, warm-up included; arrays are of equal length. See StepTiming.
struct RankTimingRecord {
  int rank = 0;
  Samples step_ms;
  Samples data_wait_ms;
  Samples forward_ms;
  Samples backward_ms;
  Samples recompute_ms;  // a part of backward_ms
  Samples comm_busy_ms;
  Samples exposed_ms;
  Samples exposed_buckets_ms;
  Samples optimizer_ms;
  Samples other_ms;
  bool operator==(const RankTimingRecord&) const = default;
};

// Steps of the control run, which goes on after training with the all-reduce call left out of every second
// segment; all ranks begin each step together. Not training: no number of it is in timing or epochs.
struct ControlSegmentRecord {
  bool all_reduce = true;
  std::vector<std::vector<double>> step_ms;     // by rank, then by step
  std::vector<std::vector<double>> exposed_ms;  // likewise
  bool operator==(const ControlSegmentRecord&) const = default;
};

struct ControlRecord {
  int warmup_steps = 0;                        // of each kind, before the first segment and in none
  std::vector<ControlSegmentRecord> segments;  // on, off, on, off, …
  bool operator==(const ControlRecord&) const = default;
};

// The most that one rank's device can do in the arithmetic of the run, and who says so.
struct PeakRecord {
  double flops_per_s = 0.0;
  std::string source;
  bool operator==(const PeakRecord&) const = default;
};

// Power of the ranks' devices, integrated over the epochs. A device that several ranks share counts for each
// of them with its part.
struct EnergyRecord {
  std::string source;
  double interval_ms = 0.0;    // between two readings
  std::vector<double> rank_j;  // by rank, over all epochs
  bool operator==(const EnergyRecord&) const = default;
};

struct PricesRecord {
  std::string currency;
  std::optional<double> per_rank_hour;
  std::optional<double> per_kwh;
  bool operator==(const PricesRecord&) const = default;
};

// Appends one step, rounded to 0.1 us: no clock here resolves it, and it keeps files small.
void append_step(RankTimingRecord& timing, const StepTiming& step);

}  // namespace tandem
