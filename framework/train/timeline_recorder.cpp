#include "train/timeline_recorder.h"

#include <cmath>

#include "core/error.h"
#include "train/clock_offsets.h"

namespace tandem {
namespace {

// To 0.1 us, as all times of the record: no clock here resolves it. Rounding keeps the order of stamps.
void round(double& ms) {
  ms = std::round(ms * 1e4) / 1e4;
}

void round_stamps(RankStepRecord& step) {
  for (auto* ms : {&step.begin_ms, &step.load_begin_ms, &step.load_end_ms, &step.data_ready_ms, &step.end_ms,
                   &step.next_begin_ms})
    round(*ms);
  step.clock_error_ms = std::ceil(step.clock_error_ms * 1e4) / 1e4;
  for (auto* stamps :
       {&step.forward_end_ms, &step.backward_end_ms, &step.recompute_begin_ms, &step.recompute_end_ms,
        &step.ready_ms, &step.reduce_begin_ms, &step.reduce_end_ms, &step.wait_begin_ms, &step.wait_end_ms}) {
    for (auto& ms : *stamps) round(ms);
  }
}

}  // namespace

void TimelineRecorder::add(const StepReport& report) {
  if (report.sample) steps_.push_back({.step = report.step, .ranks = {*report.sample}});
}

std::vector<StepTimelineRecord> TimelineRecorder::gather(RankGroup& group) const {
  if (steps_.empty()) return {};
  const auto offsets = measure_clock_offsets(group);
  std::vector<StepTimelineRecord> all;
  for (const auto& text : group.all_gather(to_json(steps_))) {
    const auto rank = static_cast<int>(all.empty() ? 0 : all.front().ranks.size());
    const auto of_rank = step_timelines_from_json(text, fmt::format("the steps of rank {}", rank));
    TANDEM_EXPECT(of_rank.size() == steps_.size(), "rank {} sampled other steps than rank {}", rank,
                  group.rank().value);
    all.resize(of_rank.size());
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      auto step = of_rank[i].ranks.front();
      step.rank = rank;
      step.begin_ms -= offsets[static_cast<std::size_t>(rank)].ms;
      step.clock_error_ms += offsets[static_cast<std::size_t>(rank)].error_ms;
      all[i].step = of_rank[i].step;
      all[i].ranks.push_back(std::move(step));
    }
  }
  // What is compared with rank 0's stamps carries their error, too.
  const double first_begin_ms = all.front().ranks.front().begin_ms;
  for (auto& step : all) {
    const double root_error_ms = step.ranks.front().clock_error_ms;
    for (auto& rank : step.ranks) {
      rank.begin_ms -= first_begin_ms;
      if (rank.rank != 0) rank.clock_error_ms += root_error_ms;
      round_stamps(rank);
    }
  }
  return all;
}

}  // namespace tandem
