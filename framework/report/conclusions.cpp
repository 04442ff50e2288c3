#include "report/conclusions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "report/config_text.h"
#include "report/contention.h"
#include "report/limit_rules.h"
#include "report/link_fit.h"
#include "report/run_summary.h"
#include "report/table_text.h"
#include "report/text_table.h"

namespace tandem {
namespace {

// On links of this decade so few bytes take no time beside the latency.
constexpr std::int64_t kSmallBucketBytes = 64 * 1024;

double mean_of(const RunRecord& run, Samples RankTimingRecord::*samples) {
  double sum = 0.0;
  std::int64_t count = 0;
  for (const auto& rank : run.timing) {
    const auto& all = rank.*samples;
    for (auto s = static_cast<std::size_t>(run.warmup_steps); s < all.size(); ++s) {
      if (!all[s]) continue;
      sum += *all[s];
      ++count;
    }
  }
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

std::optional<double> mean_if_any(const RunSummary& summary, std::string_view name) {
  for (const auto& quantity : summary.quantities)
    if (quantity.name == name) return quantity.steps.mean;
  return std::nullopt;
}

std::vector<double> compute_by_rank(const RunRecord& run) {
  std::vector<double> by_rank;
  for (const auto& rank : run.timing) {
    RunRecord one;
    one.warmup_steps = run.warmup_steps;
    one.timing = {rank};
    by_rank.push_back(mean_of(one, &RankTimingRecord::forward_ms) +
                      mean_of(one, &RankTimingRecord::backward_ms));
  }
  return by_rank;
}

std::optional<double> latency_of(const RunRecord& run) {
  if (!run.bucket_times) return std::nullopt;
  const auto times = all_reduce_times(run);
  const auto fit = fit_link(times, ranks_in_all_reduce(run));
  if (fit && fit->is_trusted()) return fit->latency_ms;
  double shortest_ms = times.front().wire_ms;
  bool small = false;
  for (const auto& time : times) {
    shortest_ms = std::min(shortest_ms, time.wire_ms);
    small |= time.bytes <= static_cast<double>(kSmallBucketBytes);
  }
  return small ? std::optional(shortest_ms) : std::nullopt;
}

bool is_gpu_run(const RunRecord& run) {
  return std::ranges::any_of(run.versions,
                             [](const auto& version) { return version.first.starts_with("CUDA runtime"); });
}

}  // namespace

std::vector<AllReduceTime> all_reduce_times(const RunRecord& run) {
  std::vector<AllReduceTime> times;
  if (!run.bucket_times) return times;
  for (std::size_t b = 0; b < run.buckets.size(); ++b)
    times.push_back({.bytes = static_cast<double>(run.buckets[b].bytes),
                     .wire_ms = run.bucket_times->buckets[b].wire_ms});
  return times;
}

std::optional<LimitFacts> limit_facts(const RunRecord& run) {
  const auto summary = summarize(run);
  const auto step = mean_if_any(summary, "step");
  if (!step || *step <= 0.0) return std::nullopt;
  using Timing = RankTimingRecord;
  LimitFacts facts{.step_ms = *step,
                   .data_wait_ms = mean_if_any(summary, "data wait"),
                   .compute_ms = mean_of(run, &Timing::forward_ms) + mean_of(run, &Timing::backward_ms) +
                                 mean_of(run, &Timing::optimizer_ms),
                   .backward_ms = mean_of(run, &Timing::backward_ms),
                   .exposed_ms = mean_if_any(summary, "communication, exposed"),
                   .other_ms = mean_of(run, &Timing::other_ms),
                   .rank_compute_ms = compute_by_rank(run)};
  if (ranks_in_all_reduce(run) > 1) {
    facts.buckets = static_cast<int>(run.buckets.size());
    facts.bytes = reduced_bytes_per_step(run);
    facts.latency_ms = latency_of(run);
    if (run.bucket_times) {
      facts.wire_ms = run.bucket_times->wire_ms;
      facts.peer_wait_ms = run.bucket_times->peer_wait_ms;
    }
    facts.bus_gb_per_s_in_training = summary.bus_gb_per_s_in_training;
    facts.bus_gb_per_s_standalone = run.link.bus_gb_per_s_standalone;
  }
  if (const auto control = run.control ? summarize_control(*run.control) : std::nullopt;
      control && control->contention_shown()) {
    facts.contention_ms = control->contention_ms.median;
    facts.contention_noise_ms = (control->contention_ms.max - control->contention_ms.min) / 2.0;
  }
  facts.on_gpu = is_gpu_run(run);
  facts.reduction = run.reduction;
  facts.item = run.batch.item;
  facts.config = config_values(run.config);
  return facts;
}

std::vector<Conclusion> conclude(const LimitFacts& facts) {
  TANDEM_EXPECT(facts.step_ms > 0.0, "a step of {} ms limits nothing", facts.step_ms);
  std::vector<Conclusion> conclusions;
  for (const auto rule : {communication_rule, data_rule, contention_rule, straggler_rule, launch_rule})
    if (auto found = rule(facts)) conclusions.push_back(std::move(*found));
  std::ranges::stable_sort(conclusions, std::greater(), &Conclusion::share);
  if (conclusions.empty()) conclusions.push_back(compute_bound(facts));
  return conclusions;
}

std::vector<Conclusion> conclusions_of(const RunRecord& run) {
  const auto facts = limit_facts(run);
  return facts ? conclude(*facts) : std::vector<Conclusion>();
}

std::string headline_of(const Conclusion& conclusion) {
  return fmt::format("{} ({} % of the step)", conclusion.title, percent(conclusion.share));
}

std::string conclusions_markdown(const std::vector<Conclusion>& conclusions) {
  std::string text;
  for (const auto& conclusion : conclusions) {
    text += fmt::format("- **{}.** {}\n", headline_of(conclusion), conclusion.finding);
    for (const auto& advice : conclusion.advice) text += fmt::format("  - try {}\n", advice);
  }
  return text;
}

}  // namespace tandem
