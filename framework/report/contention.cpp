#include "report/contention.h"

#include <algorithm>
#include <span>
#include <vector>

namespace tandem {
namespace {

struct SegmentTimes {
  double step_ms = 0.0;               // mean over steps of the maximum over ranks
  double slowest_rank_step_ms = 0.0;  // maximum over ranks of the mean over steps
  double exposed_ms = 0.0;            // mean over steps, of the rank that the others wait for
};

SegmentTimes times_of(const ControlSegmentRecord& segment) {
  const auto ranks = segment.step_ms.size();
  const auto steps = segment.step_ms.front().size();
  const auto count = static_cast<double>(steps);
  SegmentTimes times;
  std::vector<double> means(ranks);
  for (std::size_t step = 0; step < steps; ++step) {
    double longest = 0.0;
    std::size_t last = 0;
    const auto own_ms = [&](std::size_t rank) {
      return segment.step_ms[rank][step] - segment.exposed_ms[rank][step];
    };
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      longest = std::max(longest, segment.step_ms[rank][step]);
      if (own_ms(rank) > own_ms(last)) last = rank;
      means[rank] += segment.step_ms[rank][step] / count;
    }
    times.step_ms += longest / count;
    times.exposed_ms += segment.exposed_ms[last][step] / count;
  }
  times.slowest_rank_step_ms = *std::max_element(means.begin(), means.end());
  return times;
}

// Of one value in all pairs.
class PairSamples {
 public:
  void add(double value) { values_.push_back(value); }
  Spread spread() const { return spread_of(*statistics_of(std::span<const double>(values_))); }

 private:
  std::vector<double> values_;
};

}  // namespace

std::optional<ContentionSummary> summarize_control(const ControlRecord& control) {
  const auto pairs = control.segments.size() / 2;
  if (pairs == 0) return std::nullopt;
  PairSamples on, off, cost, exposed, contention, skew;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto with = times_of(control.segments[2 * pair]);
    const auto without = times_of(control.segments[2 * pair + 1]);
    on.add(with.step_ms);
    off.add(without.step_ms);
    cost.add(with.step_ms - without.step_ms);
    exposed.add(with.exposed_ms);
    contention.add(with.step_ms - without.step_ms - with.exposed_ms);
    skew.add(without.step_ms - without.slowest_rank_step_ms);
  }
  return ContentionSummary{
      .pairs = static_cast<std::int64_t>(pairs),
      .steps = static_cast<std::int64_t>(control.segments.front().step_ms.front().size()),
      .step_on_ms = on.spread(),
      .step_off_ms = off.spread(),
      .comm_cost_ms = cost.spread(),
      .exposed_ms = exposed.spread(),
      .contention_ms = contention.spread(),
      .skew_cost_ms = skew.spread()};
}

}  // namespace tandem
