#include "train/run_recorder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "train/gather_numbers.h"

namespace tandem {
namespace {

constexpr std::array kQuantities{&RankTimingRecord::step_ms,      &RankTimingRecord::data_wait_ms,
                                 &RankTimingRecord::forward_ms,   &RankTimingRecord::backward_ms,
                                 &RankTimingRecord::recompute_ms, &RankTimingRecord::comm_busy_ms,
                                 &RankTimingRecord::exposed_ms,   &RankTimingRecord::exposed_buckets_ms,
                                 &RankTimingRecord::optimizer_ms, &RankTimingRecord::other_ms};

double pack(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<double> packed(const Samples& values) {
  std::vector<double> numbers;
  numbers.reserve(values.size());
  for (const auto& value : values) numbers.push_back(pack(value));
  return numbers;
}

std::optional<double> unpack(double value) {
  return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}

// All ranks' rows from `first` on; a row has a number per bucket.
BucketDurations gather_durations(const std::vector<std::vector<double>>& rows, std::size_t first,
                                 RankGroup& group) {
  std::vector<double> mine;
  for (auto step = first; step < rows.size(); ++step)
    mine.insert(mine.end(), rows[step].begin(), rows[step].end());
  const auto buckets = rows.front().size();
  BucketDurations durations(group.world_size(), static_cast<std::int64_t>(rows.size() - first),
                            static_cast<int>(buckets));
  const auto all = gather_numbers(mine, group);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < all[rank].size(); ++i) {
      durations.at(static_cast<int>(rank), static_cast<std::int64_t>(i / buckets),
                   static_cast<int>(i % buckets)) = unpack(all[rank][i]);
    }
  }
  return durations;
}

}  // namespace

void RunRecorder::add(const StepReport& report, const StepTiming& timing) {
  loss_sums_.push_back(report.results.loss_sum);
  targets_.push_back(static_cast<double>(report.results.valid_targets));
  if (!measured_) return;
  append_step(timing_, timing);
  bucket_ms_.push_back(packed(timing.buckets_ms));
  wait_ms_.push_back(packed(timing.waits_ms));
}

void RunRecorder::gather(RankGroup& group, RunRecord& record) const {
  gather_losses(group, record);
  if (!measured_) return;
  gather_timing(group, record);
  gather_buckets(group, record);
}

std::vector<double> RunRecorder::packed_timing() const {
  std::vector<double> values;
  for (const auto quantity : kQuantities) {
    for (const auto& value : timing_.*quantity) values.push_back(pack(value));
  }
  return values;
}

void RunRecorder::gather_timing(RankGroup& group, RunRecord& record) const {
  const auto all = gather_numbers(packed_timing(), group);
  const auto steps = loss_sums_.size();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    RankTimingRecord timing{.rank = static_cast<int>(rank)};
    TANDEM_EXPECT(all[rank].size() == steps * kQuantities.size(), "rank {} recorded other steps than rank {}",
                  rank, group.rank().value);
    auto next = all[rank].begin();
    for (const auto quantity : kQuantities) {
      for (std::size_t step = 0; step < steps; ++step) (timing.*quantity).push_back(unpack(*next++));
    }
    record.timing.push_back(std::move(timing));
  }
}

void RunRecorder::gather_buckets(RankGroup& group, RunRecord& record) const {
  const auto buckets = bucket_ms_.empty() ? 0 : bucket_ms_.front().size();
  if (buckets == 0) return;
  const auto first = std::min(bucket_ms_.size(), static_cast<std::size_t>(record.warmup_steps));
  record.bucket_times =
      summarize_buckets(gather_durations(bucket_ms_, first, group), gather_durations(wait_ms_, first, group));
}

void RunRecorder::gather_losses(RankGroup& group, RunRecord& record) const {
  std::vector<double> sums;
  for (std::size_t step = 0; step < loss_sums_.size(); ++step) {
    if (static_cast<std::int64_t>(step) % log_every_ != 0 && step + 1 != loss_sums_.size()) continue;
    record.losses.push_back({.step = static_cast<std::int64_t>(step)});
    sums.push_back(loss_sums_[step]);
    sums.push_back(targets_[step]);
  }
  const auto total = group.sum(sums);
  for (std::size_t i = 0; i < record.losses.size(); ++i)
    record.losses[i].loss = total[2 * i] / total[2 * i + 1];
}

double RunRecorder::mean_loss(std::int64_t first, std::int64_t end, RankGroup& group) const {
  const std::array mine{std::accumulate(loss_sums_.begin() + first, loss_sums_.begin() + end, 0.0),
                        std::accumulate(targets_.begin() + first, targets_.begin() + end, 0.0)};
  const auto total = group.sum(mine);
  return total[0] / total[1];
}

}  // namespace tandem
