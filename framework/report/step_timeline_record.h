// A few steps of a run, stamp by stamp: what the timeline of a step and the trace file are drawn from.
//
// Plain values; docs/run_record.md documents each field. Milliseconds. Letters are those of
// docs/measuring.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// One step on one rank. All stamps but begin_ms count from S0, where this rank began this step.
//
// begin_ms puts steps and ranks side by side: it is S0 on rank 0's clock, after rank 0 began the first step
// of the record's timelines. It is known to clock_error_ms; what is measured never depends on it.
struct RankStepRecord {
  int rank = 0;
  double begin_ms = 0.0;
  double clock_error_ms = 0.0;
  double load_begin_ms = 0.0;  // when the loading thread filled the batch: ahead, so mostly below 0
  double load_end_ms = 0.0;
  double data_ready_ms = 0.0;           // D
  std::vector<double> forward_end_ms;   // F, of each micro-batch
  std::vector<double> backward_end_ms;  // B, likewise
  std::vector<double>
      recompute_begin_ms;                // where a block's forward pass runs again, of each micro-batch and,
  std::vector<double> recompute_end_ms;  // within it, of each block of RunRecord::recomputed
  std::vector<double> ready_ms;          // R, of each bucket: its last gradient is written
  std::vector<double> reduce_begin_ms;   // A, likewise; these five are empty if nothing was communicated
  std::vector<double> reduce_end_ms;     // Z
  std::vector<double> wait_begin_ms;     // W
  std::vector<double> wait_end_ms;       // V
  double end_ms = 0.0;                   // E
  double next_begin_ms = 0.0;            // S0 of the next step; after the last one of an epoch, E
  bool operator==(const RankStepRecord&) const = default;
};

struct StepTimelineRecord {
  std::int64_t step = 0;
  std::vector<RankStepRecord> ranks;  // by rank
  bool operator==(const StepTimelineRecord&) const = default;
};

// As a JSON array, in which ranks send each other their steps. The reader throws InputError as a run record's
// does, naming `file`.
std::string to_json(const std::vector<StepTimelineRecord>& steps);
std::vector<StepTimelineRecord> step_timelines_from_json(std::string_view text, const std::string& file);

}  // namespace tandem
