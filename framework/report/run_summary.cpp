#include "report/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tandem {
namespace {

struct Quantity {
  const char* name;
  Samples RankTimingRecord::*samples;
};

constexpr std::array<Quantity, 9> kQuantities = {{
    {"step", &RankTimingRecord::step_ms},
    {"data wait", &RankTimingRecord::data_wait_ms},
    {"forward", &RankTimingRecord::forward_ms},
    {"backward", &RankTimingRecord::backward_ms},
    {"recompute, in backward", &RankTimingRecord::recompute_ms},
    {"communication, exposed", &RankTimingRecord::exposed_ms},
    {"optimizer", &RankTimingRecord::optimizer_ms},
    {"other", &RankTimingRecord::other_ms},
    {"communication, busy", &RankTimingRecord::comm_busy_ms},
}};

// The disjoint parts of a step; data wait counts as forward where it was not recorded.
std::optional<double> parts_of_step(const RankTimingRecord& rank, std::size_t step) {
  const std::array required = {rank.forward_ms[step], rank.backward_ms[step], rank.exposed_ms[step],
                               rank.optimizer_ms[step], rank.other_ms[step]};
  double sum = rank.data_wait_ms[step].value_or(0.0);
  for (const auto& part : required) {
    if (!part) return std::nullopt;
    sum += *part;
  }
  return sum;
}

ShareSum share_over_ranks(const RunRecord& record, Samples RankTimingRecord::*part,
                          Samples RankTimingRecord::*whole) {
  ShareSum share;
  for (const auto& rank : record.timing)
    for (std::size_t s = static_cast<std::size_t>(record.warmup_steps); s < rank.step_ms.size(); ++s)
      share.add((rank.*part)[s], (rank.*whole)[s]);
  return share;
}

std::optional<QuantitySummary> summarize_quantity(const RunRecord& record, const Quantity& quantity) {
  Samples pooled;
  double slowest = 0.0;
  for (const auto& rank : record.timing) {
    const Samples& all = rank.*quantity.samples;
    const auto warmup = std::min(all.size(), static_cast<std::size_t>(record.warmup_steps));
    const Samples measured(all.begin() + static_cast<std::ptrdiff_t>(warmup), all.end());
    if (const auto statistics = statistics_of(measured)) slowest = std::max(slowest, statistics->mean);
    pooled.insert(pooled.end(), measured.begin(), measured.end());
  }
  const auto statistics = statistics_of(pooled);
  if (!statistics) return std::nullopt;
  return QuantitySummary{
      .name = quantity.name,
      .steps = *statistics,
      .slowest_rank_mean_ms = slowest,
      .share_of_step = share_over_ranks(record, quantity.samples, &RankTimingRecord::step_ms).value()};
}

std::optional<double> unaccounted_of_steps(const RunRecord& record) {
  ShareSum accounted;
  for (const auto& rank : record.timing)
    for (std::size_t s = static_cast<std::size_t>(record.warmup_steps); s < rank.step_ms.size(); ++s)
      accounted.add(parts_of_step(rank, s), rank.step_ms[s]);
  const auto share = accounted.value();
  if (!share) return std::nullopt;
  return 1.0 - *share;
}

std::int64_t measured_steps(const RunRecord& record) {
  if (record.timing.empty()) return 0;
  const auto recorded = static_cast<std::int64_t>(record.timing.front().step_ms.size());
  return std::max<std::int64_t>(0, recorded - record.warmup_steps);
}

std::vector<EpochRecord> whole_epochs(const RunRecord& record) {
  std::vector<EpochRecord> whole;
  for (const auto& epoch : record.epochs)
    if (epoch.steps == record.batch.steps_per_epoch) whole.push_back(epoch);
  return whole;
}

EpochRecord extrapolated(const RunRecord& record, EpochRecord epoch) {
  const double training_s = epoch.wall_s - epoch.eval_s - epoch.checkpoint_s;
  const auto steps = static_cast<double>(record.batch.steps_per_epoch);
  double whole_s = training_s * steps / static_cast<double>(epoch.steps);
  if (const auto step = summarize_quantity(record, kQuantities.front()))
    whole_s = step->slowest_rank_mean_ms * 1e-3 * steps;
  const double longer = training_s > 0.0 ? whole_s / training_s : 1.0;
  if (epoch.training_energy_j && epoch.energy_j) {
    *epoch.energy_j += *epoch.training_energy_j * (longer - 1.0);
    *epoch.training_energy_j *= longer;
  }
  epoch.wall_s += whole_s - training_s;
  epoch.items = epoch.items / epoch.steps * record.batch.steps_per_epoch;
  epoch.steps = record.batch.steps_per_epoch;
  return epoch;
}

std::string words_of(const LinkModelRecord& model) {
  return fmt::format("{:g} Gbit/s + {:g} us", model.gbit_per_s, model.latency_us);
}

}  // namespace

RunSummary summarize(const RunRecord& record) {
  RunSummary summary;
  summary.measured_steps = measured_steps(record);
  for (const auto& quantity : kQuantities)
    if (auto found = summarize_quantity(record, quantity)) summary.quantities.push_back(std::move(*found));

  using Timing = RankTimingRecord;
  summary.exposed_share = share_over_ranks(record, &Timing::exposed_ms, &Timing::step_ms).value();
  summary.busy_share = share_over_ranks(record, &Timing::comm_busy_ms, &Timing::step_ms).value();
  // Summed over steps first: the mean of per-step ratios would let short steps with little communication
  // dominate.
  summary.overlap_ratio = overlap_ratio(
      share_over_ranks(record, &Timing::exposed_buckets_ms, &Timing::comm_busy_ms).value(), 1.0);
  summary.unaccounted_share = unaccounted_of_steps(record);
  if (record.bucket_times)
    summary.bus_gb_per_s_in_training =
        all_reduce_bus_gb_per_s(static_cast<double>(reduced_bytes_per_step(record)),
                                ranks_in_all_reduce(record), record.bucket_times->wire_ms);
  return summary;
}

std::vector<std::string> caveats(const RunRecord& record) {
  std::vector<std::string> words;
  if (record.link.paced) words.push_back("paced to " + words_of(*record.link.paced));
  if (const auto& emulated = record.link.emulated)
    words.push_back(fmt::format("emulated link, {} ranks, {}", emulated->ranks, words_of(emulated->model)));
  if (record.not_training) words.push_back("not training");
  if (const auto steps = extrapolated_from_steps(record))
    words.push_back(
        fmt::format("epoch extrapolated from {} of {} steps", *steps, record.batch.steps_per_epoch));
  return words;
}

int ranks_in_all_reduce(const RunRecord& record) {
  return record.link.emulated ? record.link.emulated->ranks : record.world_size;
}

std::int64_t reduced_bytes_per_step(const RunRecord& record) {
  if (ranks_in_all_reduce(record) < 2) return 0;
  std::int64_t bytes = 0;
  for (const auto& bucket : record.buckets) bytes += bucket.bytes;
  return bytes;
}

std::optional<double> items_per_s(const EpochRecord& epoch) {
  const double training_s = epoch.wall_s - epoch.eval_s - epoch.checkpoint_s;
  if (training_s <= 0.0) return std::nullopt;
  return static_cast<double>(epoch.items) / training_s;
}

std::optional<double> unaccounted_share(const RunRecord& record, const EpochRecord& epoch) {
  if (record.timing.empty()) return std::nullopt;
  double largest_ms = 0.0;
  for (const auto& rank : record.timing) {
    double sum = 0.0;
    for (std::int64_t s = epoch.first_step; s < epoch.first_step + epoch.steps; ++s) {
      const auto parts = parts_of_step(rank, static_cast<std::size_t>(s));
      if (!parts) return std::nullopt;
      sum += *parts;
    }
    largest_ms = std::max(largest_ms, sum);
  }
  return unaccounted_share(largest_ms * 1e-3 + epoch.eval_s + epoch.checkpoint_s, epoch.wall_s);
}

std::vector<EpochRecord> representative_epochs(const RunRecord& record) {
  auto whole = whole_epochs(record);
  if (whole.empty() && !record.epochs.empty()) return {extrapolated(record, record.epochs.back())};
  if (whole.size() > 1 && whole.front() == record.epochs.front()) whole.erase(whole.begin());
  return whole;
}

std::optional<std::int64_t> extrapolated_from_steps(const RunRecord& record) {
  if (record.epochs.empty() || !whole_epochs(record).empty()) return std::nullopt;
  const auto measured = measured_steps(record);
  return measured > 0 ? measured : record.epochs.back().steps;
}

}  // namespace tandem
