#include "report/step_timeline_record.h"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "core/error.h"
#include "report/step_timeline_check.h"
#include "report/step_timeline_fields.h"

namespace tandem {
namespace {

// What a row of stamps must be to be drawn: of the right length, and none before the one that it follows.
class RankCheck {
 public:
  RankCheck(const RankStepRecord& rank, const TimelineSizes& sizes) : rank_(rank), sizes_(sizes) {}

  std::optional<TimelineFault> find() {
    passes();
    recomputes();
    for (const auto& [name, stamps] : {std::pair{"ready_ms", &rank_.ready_ms},
                                       {"reduce_begin_ms", &rank_.reduce_begin_ms},
                                       {"reduce_end_ms", &rank_.reduce_end_ms},
                                       {"wait_begin_ms", &rank_.wait_begin_ms},
                                       {"wait_end_ms", &rank_.wait_end_ms}}) {
      const auto expected = rank_.ready_ms.empty() ? 0 : sizes_.buckets;
      require(stamps->size() == expected, name, fmt::format("{} buckets", expected), stamps->size());
    }
    if (fault_) return fault_;
    for (std::size_t b = 0; b < rank_.ready_ms.size(); ++b) bucket(b);
    require(rank_.load_begin_ms <= rank_.load_end_ms, "load_end_ms", "no stamp before load_begin_ms",
            rank_.load_end_ms);
    return fault_;
  }

 private:
  template <class Found>
  void require(bool holds, std::string field, std::string expected, const Found& found) {
    if (holds || fault_) return;
    fault_ = TimelineFault{std::move(field), std::move(expected), fmt::format("{}", found)};
  }

  void in_order(const std::string& field, double earlier, double later) {
    require(earlier <= later, field, fmt::format("no stamp before {}", earlier), later);
  }

  void passes() {
    const auto& forward = rank_.forward_end_ms;
    const auto& backward = rank_.backward_end_ms;
    require(!forward.empty(), "forward_end_ms", "a micro-batch", 0);
    require(backward.size() == forward.size(), "backward_end_ms",
            fmt::format("{} micro-batches", forward.size()), backward.size());
    if (fault_) return;
    double last = rank_.data_ready_ms;
    in_order("data_ready_ms", 0.0, last);
    for (std::size_t i = 0; i < forward.size(); ++i) {
      in_order(fmt::format("forward_end_ms[{}]", i), last, forward[i]);
      in_order(fmt::format("backward_end_ms[{}]", i), forward[i], backward[i]);
      last = backward[i];
    }
    in_order("end_ms", last, rank_.end_ms);
    in_order("next_begin_ms", rank_.end_ms, rank_.next_begin_ms);
  }

  // One after the other, each within the backward pass of its micro-batch.
  void recomputes() {
    if (fault_) return;
    const auto& backward = rank_.backward_end_ms;
    const auto expected = backward.size() * sizes_.recomputed;
    for (const auto& [name, stamps] : {std::pair{"recompute_begin_ms", &rank_.recompute_begin_ms},
                                       {"recompute_end_ms", &rank_.recompute_end_ms}})
      require(stamps->size() == expected, name, fmt::format("{} stamps", expected), stamps->size());
    if (fault_) return;
    double last = 0.0;
    for (std::size_t i = 0; i < expected; ++i) {
      const auto micro_batch = i / sizes_.recomputed;
      if (i % sizes_.recomputed == 0) last = rank_.forward_end_ms[micro_batch];
      in_order(fmt::format("recompute_begin_ms[{}]", i), last, rank_.recompute_begin_ms[i]);
      in_order(fmt::format("recompute_end_ms[{}]", i), rank_.recompute_begin_ms[i],
               rank_.recompute_end_ms[i]);
      last = rank_.recompute_end_ms[i];
      in_order(fmt::format("backward_end_ms[{}]", micro_batch), last, backward[micro_batch]);
    }
  }

  void bucket(std::size_t b) {
    const auto at = [b](const char* name) { return fmt::format("{}[{}]", name, b); };
    in_order(at("reduce_begin_ms"), rank_.ready_ms[b], rank_.reduce_begin_ms[b]);
    in_order(at("reduce_end_ms"), rank_.reduce_begin_ms[b], rank_.reduce_end_ms[b]);
    in_order(at("wait_end_ms"), rank_.wait_begin_ms[b], rank_.wait_end_ms[b]);
    in_order("end_ms", rank_.wait_end_ms[b], rank_.end_ms);
  }

  const RankStepRecord& rank_;
  const TimelineSizes& sizes_;
  std::optional<TimelineFault> fault_;
};

}  // namespace

std::optional<TimelineFault> find_fault(const std::vector<StepTimelineRecord>& steps,
                                        const TimelineSizes& sizes) {
  const auto world_size = sizes.world_size;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto at = fmt::format("[{}]", s);
    const auto& step = steps[s];
    if (s > 0 && step.step <= steps[s - 1].step)
      return TimelineFault{at + ".step", "a step after the one before", fmt::format("{}", step.step)};
    if (step.ranks.size() != static_cast<std::size_t>(world_size))
      return TimelineFault{at + ".ranks", fmt::format("{} ranks", world_size),
                           fmt::format("{}", step.ranks.size())};
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
      const auto rank_at = fmt::format("{}.ranks[{}].", at, r);
      if (static_cast<std::size_t>(step.ranks[r].rank) != r)
        return TimelineFault{rank_at + "rank", fmt::format("{}", r), fmt::format("{}", step.ranks[r].rank)};
      if (auto fault = RankCheck(step.ranks[r], sizes).find()) {
        fault->field = rank_at + fault->field;
        return fault;
      }
    }
  }
  return std::nullopt;
}

std::string to_json(const std::vector<StepTimelineRecord>& steps) {
  return render_json(JsonForm<std::vector<StepTimelineRecord>>::write(steps));
}

std::vector<StepTimelineRecord> step_timelines_from_json(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  std::vector<StepTimelineRecord> steps;
  JsonForm<std::vector<StepTimelineRecord>>::read({&json, &file}, steps);
  return steps;
}

}  // namespace tandem
