// Keeps what every step reported and brings all ranks' steps together in the run record.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/rank_group.h"
#include "report/run_record.h"
#include "train/trainer.h"

namespace tandem {

class RunRecorder {
 public:
  // `log_every`: steps between the losses that the record keeps; `measured`: whether steps carry stamps.
  RunRecorder(std::int64_t log_every, bool measured) : log_every_(log_every), measured_(measured) {}

  void add(const StepReport& report, const StepTiming& timing);

  // All ranks call together, when nothing is in flight. Fills timing, bucket_times and losses.
  void gather(RankGroup& group, RunRecord& record) const;

  // Mean loss over all ranks of steps [first, end). All ranks call together.
  double mean_loss(std::int64_t first, std::int64_t end, RankGroup& group) const;

 private:
  // What one rank tells the others, as numbers; a value that was not recorded travels as NaN.
  std::vector<double> packed_timing() const;
  void gather_timing(RankGroup& group, RunRecord& record) const;
  void gather_buckets(RankGroup& group, RunRecord& record) const;
  void gather_losses(RankGroup& group, RunRecord& record) const;

  std::int64_t log_every_;
  bool measured_;
  RankTimingRecord timing_;
  std::vector<std::vector<double>> bucket_ms_;  // [steps][buckets], Z - A
  std::vector<std::vector<double>> wait_ms_;    // [steps][buckets], V - W
  std::vector<double> loss_sums_;               // by step, of this rank
  std::vector<double> targets_;                 // likewise
};

}  // namespace tandem
