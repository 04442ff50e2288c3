#include "report/bucket_times.h"

#include <algorithm>
#include <span>

#include "core/error.h"

namespace tandem {
namespace {

bool is_complete(const BucketDurations& durations, std::int64_t step) {
  for (int rank = 0; rank < durations.ranks(); ++rank)
    for (int bucket = 0; bucket < durations.buckets(); ++bucket)
      if (!durations.at(rank, step, bucket)) return false;
  return true;
}

double shortest(const BucketDurations& durations, std::int64_t step, int bucket) {
  double minimum = *durations.at(0, step, bucket);
  for (int rank = 1; rank < durations.ranks(); ++rank)
    minimum = std::min(minimum, *durations.at(rank, step, bucket));
  return minimum;
}

Statistics over_steps(const BucketDurations& durations, const std::vector<std::int64_t>& steps, int rank,
                      int bucket) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const auto step : steps) values.push_back(*durations.at(rank, step, bucket));
  return *statistics_of(std::span<const double>(values));
}

}  // namespace

BucketDurations::BucketDurations(int ranks, std::int64_t steps, int buckets)
    : ranks_(ranks), steps_(steps), buckets_(buckets) {
  TANDEM_EXPECT(ranks > 0 && steps >= 0 && buckets >= 0,
                "bucket durations of {} ranks, {} steps, {} buckets cannot exist", ranks, steps, buckets);
  ms_.resize(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(steps) *
             static_cast<std::size_t>(buckets));
}

std::size_t BucketDurations::offset(int rank, std::int64_t step, int bucket) const {
  TANDEM_EXPECT(rank >= 0 && rank < ranks_ && step >= 0 && step < steps_ && bucket >= 0 && bucket < buckets_,
                "no duration for rank {} of {}, step {} of {}, bucket {} of {}", rank, ranks_, step, steps_,
                bucket, buckets_);
  return (static_cast<std::size_t>(rank) * static_cast<std::size_t>(steps_) +
          static_cast<std::size_t>(step)) *
             static_cast<std::size_t>(buckets_) +
         static_cast<std::size_t>(bucket);
}

std::optional<double>& BucketDurations::at(int rank, std::int64_t step, int bucket) {
  return ms_[offset(rank, step, bucket)];
}

const std::optional<double>& BucketDurations::at(int rank, std::int64_t step, int bucket) const {
  return ms_[offset(rank, step, bucket)];
}

std::optional<BucketTimes> summarize_buckets(const BucketDurations& durations, const BucketDurations& waits) {
  TANDEM_EXPECT(waits.ranks() == durations.ranks() && waits.steps() == durations.steps() &&
                    waits.buckets() == durations.buckets(),
                "waits of {} ranks, {} steps, {} buckets go with other durations", waits.ranks(),
                waits.steps(), waits.buckets());
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < durations.steps(); ++step)
    if (is_complete(durations, step) && is_complete(waits, step)) steps.push_back(step);
  if (steps.empty() || durations.buckets() == 0) return std::nullopt;

  const auto count = static_cast<double>(steps.size());
  BucketTimes times;
  times.steps = static_cast<std::int64_t>(steps.size());
  times.peer_wait_ms.resize(static_cast<std::size_t>(durations.ranks()));
  for (int bucket = 0; bucket < durations.buckets(); ++bucket) {
    BucketTime time;
    for (const auto step : steps) {
      const double wire = shortest(durations, step, bucket);
      time.wire_ms += wire / count;
      for (int rank = 0; rank < durations.ranks(); ++rank)
        times.peer_wait_ms[static_cast<std::size_t>(rank)] +=
            (*durations.at(rank, step, bucket) - wire) / count;
    }
    for (int rank = 0; rank < durations.ranks(); ++rank) {
      time.rank_median_ms.push_back(over_steps(durations, steps, rank, bucket).median);
      time.rank_exposed_ms.push_back(over_steps(waits, steps, rank, bucket).mean);
    }
    times.wire_ms += time.wire_ms;
    times.buckets.push_back(std::move(time));
  }
  return times;
}

}  // namespace tandem
