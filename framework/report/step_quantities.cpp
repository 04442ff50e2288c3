#include "report/step_quantities.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace tandem {
namespace {

struct Interval {
  double begin;
  double end;
};

std::optional<double> length(const std::optional<double>& begin, const std::optional<double>& end) {
  if (!begin || !end) return std::nullopt;
  TANDEM_EXPECT(std::isfinite(*begin) && std::isfinite(*end) && *begin <= *end,
                "a time stamp pair must be finite and in order, got {} ms then {} ms", *begin, *end);
  return *end - *begin;
}

std::optional<double> sum_of_lengths(const std::vector<StampPair>& stretches) {
  double sum = 0.0;
  for (const auto& stretch : stretches) {
    const auto part = length(stretch.begin_ms, stretch.end_ms);
    if (!part) return std::nullopt;
    sum += *part;
  }
  return sum;
}

// The union as sorted intervals that do not touch. REQUIRES all stamps recorded.
std::vector<Interval> merged(const std::vector<StampPair>& stretches) {
  std::vector<Interval> sorted;
  sorted.reserve(stretches.size());
  for (const auto& stretch : stretches) sorted.push_back({*stretch.begin_ms, *stretch.end_ms});
  std::sort(sorted.begin(), sorted.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> disjoint;
  for (const Interval& next : sorted) {
    if (!disjoint.empty() && next.begin <= disjoint.back().end)
      disjoint.back().end = std::max(disjoint.back().end, next.end);
    else
      disjoint.push_back(next);
  }
  return disjoint;
}

double covered(const std::vector<Interval>& disjoint, double begin, double end) {
  double sum = 0.0;
  for (const Interval& part : disjoint)
    sum += std::max(0.0, std::min(part.end, end) - std::max(part.begin, begin));
  return sum;
}

// A phase less the exposed communication inside it.
std::optional<double> phase(const std::optional<double>& begin, const std::optional<double>& end,
                            const std::vector<Interval>& exposed) {
  const auto whole = length(begin, end);
  if (!whole) return std::nullopt;
  return *whole - covered(exposed, *begin, *end);
}

std::optional<double> sum_of_phases(const std::vector<StampPair>& stretches,
                                    const std::vector<Interval>& exposed) {
  if (stretches.empty()) return std::nullopt;
  double sum = 0.0;
  for (const auto& stretch : stretches) {
    const auto part = phase(stretch.begin_ms, stretch.end_ms, exposed);
    if (!part) return std::nullopt;
    sum += *part;
  }
  return sum;
}

}  // namespace

StepTiming measure_step(const StepStamps& stamps) {
  StepTiming timing;
  timing.step_ms = length(stamps.begin_ms, stamps.next_begin_ms);
  timing.data_wait_ms = length(stamps.begin_ms, stamps.data_ready_ms);
  timing.other_ms = length(stamps.end_ms, stamps.next_begin_ms);
  timing.comm_busy_ms = union_length_ms(stamps.buckets);
  for (const auto& bucket : stamps.buckets)
    timing.buckets_ms.push_back(length(bucket.begin_ms, bucket.end_ms));
  for (const auto& wait : stamps.waits) timing.waits_ms.push_back(length(wait.begin_ms, wait.end_ms));

  timing.exposed_buckets_ms = sum_of_lengths(stamps.waits);
  const auto own = sum_of_lengths(stamps.compute_stream_communication);
  // Without all exposed stretches it is unknown how much of a phase is compute.
  if (!timing.exposed_buckets_ms || !own) return timing;
  timing.exposed_ms = *timing.exposed_buckets_ms + *own;

  std::vector<StampPair> stretches = stamps.waits;
  stretches.insert(stretches.end(), stamps.compute_stream_communication.begin(),
                   stamps.compute_stream_communication.end());
  const auto exposed = merged(stretches);
  const auto& forward_begin = stamps.data_ready_ms ? stamps.data_ready_ms : stamps.begin_ms;
  timing.forward_ms = phase(forward_begin, stamps.forward_end_ms, exposed);
  timing.backward_ms = phase(stamps.forward_end_ms, stamps.backward_end_ms, exposed);
  timing.recompute_ms = sum_of_phases(stamps.recomputes, exposed);
  timing.optimizer_ms = phase(stamps.backward_end_ms, stamps.end_ms, exposed);
  return timing;
}

std::optional<double> union_length_ms(const std::vector<StampPair>& stretches) {
  if (!sum_of_lengths(stretches)) return std::nullopt;
  constexpr double kEver = std::numeric_limits<double>::max();
  return covered(merged(stretches), -kEver, kEver);
}

std::optional<double> overlap_ratio(std::optional<double> exposed_buckets_ms, std::optional<double> busy_ms) {
  if (!exposed_buckets_ms || !busy_ms || *busy_ms <= 0.0) return std::nullopt;
  return std::clamp(1.0 - *exposed_buckets_ms / *busy_ms, 0.0, 1.0);
}

std::optional<double> unaccounted_share(double parts, double total) {
  if (total <= 0.0) return std::nullopt;
  return (total - parts) / total;
}

std::optional<double> all_reduce_bus_gb_per_s(double bytes, int ranks, double wire_ms) {
  if (ranks < 2 || wire_ms <= 0.0) return std::nullopt;
  const double sent = bytes * 2.0 * (ranks - 1) / ranks;
  return sent / (wire_ms * 1e-3) / 1e9;
}

double weak_efficiency(double throughput_of_all, double throughput_of_one, int ranks) {
  TANDEM_EXPECT(ranks > 0 && throughput_of_one > 0.0,
                "weak efficiency takes at least one rank and a throughput above 0, got {} and {}", ranks,
                throughput_of_one);
  return throughput_of_all / (ranks * throughput_of_one);
}

double strong_speedup(double throughput_of_all, double throughput_of_one) {
  TANDEM_EXPECT(throughput_of_one > 0.0, "strong speedup takes a throughput above 0, got {}",
                throughput_of_one);
  return throughput_of_all / throughput_of_one;
}

}  // namespace tandem
