#include "report/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "core/error.h"
#include "report/economy.h"
#include "report/run_summary.h"
#include "report/step_quantities.h"

namespace tandem {
namespace {

struct Group {
  std::string label;
  std::vector<const RunRecord*> repeats;
  const RunRecord& first() const { return *repeats.front(); }
};

[[noreturn]] void refuse(const RunRecord& run, std::string what, std::string expected, std::string found) {
  throw InputError({.what = std::move(what),
                    .where = fmt::format("run \"{}\", world size {}", run.name, run.world_size),
                    .expected = std::move(expected),
                    .found = std::move(found),
                    .advice = "Compare runs of one config on different numbers of ranks."});
}

void require_one_program(const RunRecord& first, const RunRecord& run) {
  const auto same = [&](const char* field, const auto& expected, const auto& found) {
    if (expected == found) return;
    refuse(run, "Runs that differ in more than their ranks and link say nothing about scaling.",
           fmt::format("{} {}, as in run \"{}\"", field, expected, first.name),
           fmt::format("{} {}", field, found));
  };
  same("model.name", first.model.name, run.model.name);
  same("model.parameters", first.model.parameters, run.model.parameters);
  same("batch.item", first.batch.item, run.batch.item);
  same("not_training", first.not_training, run.not_training);
  if (run.epochs.empty()) refuse(run, "A run without epochs cannot be compared.", "an epoch", "none");
}

int batch_per_rank(const RunRecord& run) {
  return run.batch.micro * run.batch.accumulation;
}

ScalingKind kind_of(const std::vector<LabelledRun>& runs) {
  const auto& first = runs.front().run;
  bool weak = true, strong = true;
  for (const auto& [label, run] : runs) {
    weak = weak && batch_per_rank(run) == batch_per_rank(first);
    strong = strong && run.batch.global == first.batch.global;
    if (!weak && !strong)
      refuse(run, "Runs with other batches per rank and other global batches do not compare.",
             fmt::format("{} samples per rank or {} in all, as in run \"{}\"", batch_per_rank(first),
                         first.batch.global, first.name),
             fmt::format("{} samples per rank and {} in all", batch_per_rank(run), run.batch.global));
  }
  return strong ? ScalingKind::Strong : ScalingKind::Weak;
}

std::vector<Group> groups_of(const std::vector<LabelledRun>& runs) {
  std::vector<Group> groups;
  for (const auto& [label, run] : runs) {
    auto group = std::ranges::find_if(groups, [&](const Group& other) {
      return other.label == label && other.first().world_size == run.world_size;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {.label = label, .repeats = {}});
    group->repeats.push_back(&run);
  }
  std::ranges::stable_sort(groups, {}, [](const Group& group) { return group.first().world_size; });
  return groups;
}

std::optional<Spread> over_repeats(const Group& group,
                                   const std::function<std::optional<double>(const RunRecord&)>& value) {
  std::vector<double> values;
  for (const auto* run : group.repeats) {
    const auto found = value(*run);
    if (!found) return std::nullopt;
    values.push_back(*found);
  }
  return spread_of(*statistics_of(std::span<const double>(values)));
}

ScalingRow make_row(const Group& group) {
  const auto& first = group.first();
  const auto throughput =
      over_repeats(group, [](const RunRecord& run) { return economy_of(run).items_per_s; });
  if (!throughput || throughput->min <= 0.0)
    refuse(first, "A run without throughput cannot be compared.", "time that was spent training", "none");
  return {.label = group.label,
          .transport_found = first.link.transport_found,
          .caveats = caveats(first),
          .ranks = first.world_size,
          .global_batch = first.batch.global,
          .repeats = static_cast<int>(group.repeats.size()),
          .items_per_s = *throughput,
          .exposed_share =
              over_repeats(group, [](const RunRecord& run) { return summarize(run).exposed_share; })};
}

void fill_ratios(ScalingResult& result) {
  const ScalingRow base = result.rows.front();
  const auto ratio = [&](const ScalingRow& row, double all, double of_base) {
    if (result.kind == ScalingKind::Strong) return strong_speedup(all, of_base);
    return weak_efficiency(all, of_base / base.ranks, row.ranks);
  };
  for (auto& row : result.rows)
    row.ratio = {.median = ratio(row, row.items_per_s.median, base.items_per_s.median),
                 .min = ratio(row, row.items_per_s.min, base.items_per_s.max),
                 .max = ratio(row, row.items_per_s.max, base.items_per_s.min)};
}

}  // namespace

ScalingResult build_scaling(const std::vector<LabelledRun>& runs) {
  TANDEM_EXPECT(!runs.empty(), "there are no runs to compare");
  const auto& first = runs.front().run;
  for (const auto& [label, run] : runs) require_one_program(first, run);
  ScalingResult result{.kind = kind_of(runs), .model = first.model, .item = first.batch.item};
  for (const auto& group : groups_of(runs)) result.rows.push_back(make_row(group));
  result.base_ranks = result.rows.front().ranks;
  if (result.rows.size() > 1 && result.rows[1].ranks == result.base_ranks)
    throw InputError({.what = "There are several runs that the others could be compared with.",
                      .where = fmt::format("the runs on {} ranks", result.base_ranks),
                      .expected = "one link for the fewest ranks",
                      .found = fmt::format("{} and {}", result.rows[0].label, result.rows[1].label),
                      .advice = "Leave one of them out, or compare links with equal ranks."});
  fill_ratios(result);
  return result;
}

}  // namespace tandem
