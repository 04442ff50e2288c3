#include "page/timeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "page/svg.h"
#include "report/table_text.h"

namespace tandem {
namespace {

constexpr double kLeft = 118.0, kRight = 12.0, kWidth = 1040.0;
constexpr double kLane = 26.0, kGap = 5.0, kRankGap = 18.0, kTop = 8.0, kAxis = 30.0, kLegend = 26.0;
constexpr const char* kLanes[] = {"compute", "communication", "data"};

std::string name_of(std::size_t b, const std::vector<BucketRecord>& buckets) {
  if (b >= buckets.size()) return fmt::format("bucket {}", b);
  const auto& bucket = buckets[b];
  if (bucket.first_parameter == bucket.last_parameter)
    return fmt::format("{}: {}", b, bucket.first_parameter);
  return fmt::format("{}: {} … {}", b, bucket.first_parameter, bucket.last_parameter);
}

double earliest_begin(const StepTimelineRecord& step) {
  double begin = step.ranks.empty() ? 0.0 : step.ranks.front().begin_ms;
  for (const auto& rank : step.ranks) begin = std::min(begin, rank.begin_ms);
  return begin;
}

// Cuts the compute lane at the waits, which may lie within any part of it.
class ComputeLane {
 public:
  ComputeLane(const RankStepRecord& rank, double offset, std::vector<TimelineSpan>& spans)
      : rank_(rank), offset_(offset), spans_(spans) {}

  void add(const char* style, const std::string& what, double begin, double end) {
    for (std::size_t w = 0; w < rank_.wait_begin_ms.size(); ++w) {
      const double wait = std::clamp(rank_.wait_begin_ms[w], begin, end);
      const double resume = std::clamp(rank_.wait_end_ms[w], begin, end);
      if (resume <= wait) continue;
      push(style, what, begin, wait);
      begin = resume;
    }
    push(style, what, begin, end);
  }

  // The backward pass of a micro-batch, cut where blocks run forward again.
  void add_backward(std::size_t micro_batch, const std::vector<std::string>& recomputed) {
    double begin = rank_.forward_end_ms[micro_batch];
    for (std::size_t block = 0; block < recomputed.size(); ++block) {
      const auto i = micro_batch * recomputed.size() + block;
      if (i >= rank_.recompute_begin_ms.size() || i >= rank_.recompute_end_ms.size()) break;
      add("backward", "backward", begin, rank_.recompute_begin_ms[i]);
      add("recompute", "recompute " + recomputed[block], rank_.recompute_begin_ms[i],
          rank_.recompute_end_ms[i]);
      begin = rank_.recompute_end_ms[i];
    }
    add("backward", "backward", begin, rank_.backward_end_ms[micro_batch]);
  }

  void push(const char* style, const std::string& what, double begin, double end) {
    if (end <= begin) return;
    spans_.push_back({rank_.rank, "compute", style, what, begin + offset_, end + offset_});
  }

 private:
  const RankStepRecord& rank_;
  double offset_;
  std::vector<TimelineSpan>& spans_;
};

void add_rank(const RankStepRecord& rank, double offset, const RunRecord& run,
              std::vector<TimelineSpan>& spans) {
  const auto& buckets = run.buckets;
  ComputeLane lane(rank, offset, spans);
  const auto first = spans.size();
  lane.push("data", "data wait", 0.0, rank.data_ready_ms);
  double begin = rank.data_ready_ms;
  for (std::size_t m = 0; m < rank.forward_end_ms.size() && m < rank.backward_end_ms.size(); ++m) {
    lane.add("forward", "forward", begin, rank.forward_end_ms[m]);
    lane.add_backward(m, run.recomputed);
    begin = rank.backward_end_ms[m];
  }
  lane.add("optimizer", "optimizer", begin, rank.end_ms);
  lane.push("other", "other", rank.end_ms, rank.next_begin_ms);
  for (std::size_t w = 0; w < rank.wait_begin_ms.size(); ++w)
    lane.push("wait", "wait for bucket " + name_of(w, buckets), rank.wait_begin_ms[w], rank.wait_end_ms[w]);
  std::sort(spans.begin() + static_cast<std::ptrdiff_t>(first), spans.end(),
            [](const TimelineSpan& a, const TimelineSpan& b) { return a.begin_ms < b.begin_ms; });
  for (std::size_t b = 0; b < rank.reduce_begin_ms.size() && b < rank.reduce_end_ms.size(); ++b)
    spans.push_back({rank.rank, "communication", "busy", "bucket " + name_of(b, buckets),
                     rank.reduce_begin_ms[b] + offset, rank.reduce_end_ms[b] + offset});
  if (rank.load_end_ms > rank.load_begin_ms)
    spans.push_back({rank.rank, "data", "load", "load the batch", rank.load_begin_ms + offset,
                     rank.load_end_ms + offset});
}

// 1, 2 or 5 times a power of ten: about eight marks over the range.
double tick_of(double range_ms) {
  const double rough = range_ms / 8.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10.0 * power;
}

struct Scale : TimeRange {
  double x(double ms) const {
    const double part = (ms - begin_ms) / (end_ms - begin_ms);
    return kLeft + std::clamp(part, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
};

double lane_top(std::size_t rank, std::size_t lane) {
  return kTop + kLegend + static_cast<double>(rank) * (3.0 * (kLane + kGap) + kRankGap) +
         static_cast<double>(lane) * (kLane + kGap);
}

void draw_frame(Svg& svg, const StepTimelineRecord& step, std::size_t ranks, const Scale& scale) {
  const double bottom = lane_top(ranks, 0) - kRankGap;
  const double tick = tick_of(scale.end_ms - scale.begin_ms);
  const auto first = std::llround(std::ceil(scale.begin_ms / tick));
  const auto last = std::llround(std::floor(scale.end_ms / tick + 1e-6));
  for (auto number = first; number <= last; ++number) {
    const double at = static_cast<double>(number) * tick;
    svg.line("axis", scale.x(at), kTop + kLegend - 4.0, scale.x(at), bottom + 6.0);
    svg.text("soft", scale.x(at), bottom + 20.0, fmt::format("{:g} ms", std::round(at * 1e6) / 1e6 + 0.0),
             "middle");
  }
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t lane = 0; lane < 3; ++lane) {
      const double y = lane_top(r, lane);
      svg.box("lane", {kLeft, y, kWidth - kLeft - kRight, kLane}, {}, 3.0);
      svg.text("soft", kLeft - 8.0, y + kLane / 2.0 + 4.0,
               lane == 0 ? fmt::format("rank {}: {}", step.ranks[r].rank, kLanes[0]) : kLanes[lane], "end");
    }
}

void draw_legend(Svg& svg, bool recomputes) {
  constexpr const char* kEntries[][2] = {{"data", "data wait, loading"}, {"forward", "forward"},
                                         {"backward", "backward"},       {"recompute", "recompute"},
                                         {"wait", "wait (exposed)"},     {"optimizer", "optimizer"},
                                         {"busy", "all-reduce"},         {"other", "other"}};
  double x = kLeft;
  for (const auto& [style, words] : kEntries) {
    if (!recomputes && std::string_view(style) == "recompute") continue;
    svg.box(style, {x, kTop, 12.0, 12.0}, {}, 2.0);
    svg.text("soft", x + 17.0, kTop + 10.0, words);
    x += 36.0 + 6.3 * static_cast<double>(std::string_view(words).size());
  }
}

// From where a bucket's last gradient is written to where its all-reduce begins.
void draw_ready(Svg& svg, const RankStepRecord& rank, std::size_t row, double offset, const Scale& scale) {
  const double y = lane_top(row, 0) + kLane;
  for (std::size_t b = 0; b < rank.ready_ms.size() && b < rank.reduce_begin_ms.size(); ++b) {
    const double ready = scale.x(rank.ready_ms[b] + offset),
                 begin = scale.x(rank.reduce_begin_ms[b] + offset);
    svg.line("ready", ready, y - 7.0, ready, y, fmt::format("bucket {} is ready", b));
    svg.line("flow", ready, y, begin, lane_top(row, 1));
  }
}

}  // namespace

void TimeRange::include(const TimeRange& other) {
  begin_ms = std::min(begin_ms, other.begin_ms);
  end_ms = std::max(end_ms, other.end_ms);
}

const StepTimelineRecord* shown_step(const RunRecord& run) {
  return run.timelines.empty() ? nullptr : &run.timelines[run.timelines.size() / 2];
}

std::vector<TimelineSpan> timeline_spans(const StepTimelineRecord& step, const RunRecord& run) {
  std::vector<TimelineSpan> spans;
  const double begin = earliest_begin(step);
  for (const auto& rank : step.ranks) add_rank(rank, rank.begin_ms - begin, run, spans);
  return spans;
}

TimeRange time_range(const StepTimelineRecord& step, const RunRecord& run) {
  const auto spans = timeline_spans(step, run);
  TimeRange range;
  for (const auto& span : spans)
    if (span.lane != "data") range.end_ms = std::max(range.end_ms, span.end_ms);
  for (const auto& span :
       spans)  // batches are loaded ahead: show some of it, not a step's length of emptiness
    if (span.lane == "data")
      range.begin_ms = std::min(range.begin_ms, std::max(span.begin_ms, -0.15 * range.end_ms));
  return range;
}

std::string timeline_picture(const StepTimelineRecord& step, const RunRecord& run, const TimelineView& view) {
  const auto ranks = std::min(step.ranks.size(), view.most_ranks);
  const auto spans = timeline_spans(step, run);
  const Scale scale{view.range ? *view.range : time_range(step, run)};

  Svg svg(kWidth, lane_top(ranks, 0) - kRankGap + kAxis,
          fmt::format("Step {} on {} ranks; the table below has its stamps", step.step, ranks));
  draw_legend(svg, !run.recomputed.empty());
  draw_frame(svg, step, ranks, scale);
  const double begin = earliest_begin(step);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const auto& span : spans) {
      if (span.rank != step.ranks[r].rank || span.end_ms <= scale.begin_ms) continue;
      const auto lane = static_cast<std::size_t>(std::ranges::find(kLanes, span.lane) - std::begin(kLanes));
      const double from = scale.x(span.begin_ms), to = scale.x(span.end_ms);
      const SvgBox box{from, lane_top(r, lane), std::max(1.0, to - from), kLane};
      svg.box(
          span.style, box,
          fmt::format("{}, {:.3f} ms from {:.3f} ms", span.what, span.end_ms - span.begin_ms, span.begin_ms),
          2.0);
      svg.fitted_text("on", box, span.what);
    }
    draw_ready(svg, step.ranks[r], r, step.ranks[r].begin_ms - begin, scale);
  }
  return svg.text();
}

TextTable timeline_table(const StepTimelineRecord& step, const RunRecord& run) {
  TextTable table(
      {{"rank"}, {"lane", Align::Left}, {"what", Align::Left}, {"begin ms"}, {"end ms"}, {"length ms"}});
  for (const auto& span : timeline_spans(step, run))
    table.add_row({fmt::format("{}", span.rank), span.lane, span.what, number(span.begin_ms, 3),
                   number(span.end_ms, 3), number(span.end_ms - span.begin_ms, 3)});
  return table;
}

}  // namespace tandem
