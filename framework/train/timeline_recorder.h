// Keeps the sampled steps of this rank and brings all ranks' together.
#pragma once

#include <vector>

#include "comm/rank_group.h"
#include "report/step_timeline_record.h"
#include "train/trainer.h"

namespace tandem {

class TimelineRecorder {
 public:
  // Of each step in turn; keeps its sample, if it has one.
  void add(const StepReport& report);

  // All ranks call together, when nothing is in flight. Every rank gets the steps of all, in order, with
  // begin_ms on rank 0's clock. Nothing if nothing was sampled.
  std::vector<StepTimelineRecord> gather(RankGroup& group) const;

 private:
  std::vector<StepTimelineRecord> steps_;  // of this rank alone
};

}  // namespace tandem
