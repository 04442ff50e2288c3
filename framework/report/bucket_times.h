// How long each bucket's all-reduce took on every rank, split into wire time and waiting for peers.
//
// An all-reduce ends on every rank at about the same time, but a rank that starts it early also waits in it
// for the last one. The rank that started last waited least, so the shortest duration over ranks is the time
// that the wire needed, and what a rank spent beyond it is its wait for peers. Only durations are compared:
// the clocks of ranks need not agree. If something stalls all ranks at once, the stall counts as wire: peer
// wait is a lower bound.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/statistics.h"

namespace tandem {

// Durations (Z - A) of one run, gathered from all ranks after it; milliseconds.
class BucketDurations {
 public:
  BucketDurations(int ranks, std::int64_t steps, int buckets);  // nothing recorded yet

  std::optional<double>& at(int rank, std::int64_t step, int bucket);
  const std::optional<double>& at(int rank, std::int64_t step, int bucket) const;

  int ranks() const { return ranks_; }
  std::int64_t steps() const { return steps_; }
  int buckets() const { return buckets_; }

 private:
  std::size_t offset(int rank, std::int64_t step, int bucket) const;

  int ranks_;
  std::int64_t steps_;
  int buckets_;
  Samples ms_;  // [ranks, steps, buckets]
};

struct BucketTime {
  std::vector<double> rank_median_ms;   // by rank
  std::vector<double> rank_exposed_ms;  // by rank: how long compute waited for it, mean over steps
  double wire_ms = 0.0;                 // mean over steps of the minimum over ranks
  bool operator==(const BucketTime&) const = default;
};

struct BucketTimes {
  std::int64_t steps = 0;            // that were recorded on all ranks for all buckets; only they count
  std::vector<BucketTime> buckets;   // by bucket
  double wire_ms = 0.0;              // per step: the sum over buckets
  std::vector<double> peer_wait_ms;  // per step, by rank: the sum over buckets of what exceeds the minimum
  bool operator==(const BucketTimes&) const = default;
};

// `waits` holds how long compute waited for each bucket (V - W), of the same ranks, steps and buckets. None
// if no step is complete in both or there are no buckets.
std::optional<BucketTimes> summarize_buckets(const BucketDurations& durations, const BucketDurations& waits);

}  // namespace tandem
