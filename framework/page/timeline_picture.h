// One step, stamp by stamp: three lanes per rank, drawn from what the run recorded of a sampled step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.h"
#include "report/step_timeline_record.h"
#include "report/text_table.h"

namespace tandem {

// A stretch of one lane, on rank 0's clock, from the step's begin on the first rank.
struct TimelineSpan {
  int rank = 0;
  std::string lane;   // "compute", "communication" or "data"
  std::string style;  // class of page.css
  std::string what;   // "bucket 1: layer2.0.conv2.weight"
  double begin_ms = 0.0;
  double end_ms = 0.0;
};

// By rank and lane, in time. The parts of the compute lane follow each other as measuring.md defines them.
// `run`: the one that the step is of; it names buckets and blocks.
std::vector<TimelineSpan> timeline_spans(const StepTimelineRecord& step, const RunRecord& run);

// The step that stands for the run: the sampled ones are after warm-up, and the middle one is as good as any.
// Null if none was sampled.
const StepTimelineRecord* shown_step(const RunRecord& run);

// At most so many ranks are drawn, the first ones; the table has all.
inline constexpr std::size_t kMostRanksDrawn = 8;

// What the time axis shows, so that pictures of several runs can share one. The batch of a step is loaded
// ahead, before 0: of that at most a part is shown.
struct TimeRange {
  double begin_ms = 0.0;
  double end_ms = 1e-6;
  void include(const TimeRange& other);
};
TimeRange time_range(const StepTimelineRecord& step, const RunRecord& run);

struct TimelineView {
  std::optional<TimeRange> range;  // of the step itself if not given
  std::size_t most_ranks = kMostRanksDrawn;
};

std::string timeline_picture(const StepTimelineRecord& step, const RunRecord& run,
                             const TimelineView& view = {});
TextTable timeline_table(const StepTimelineRecord& step, const RunRecord& run);

}  // namespace tandem
