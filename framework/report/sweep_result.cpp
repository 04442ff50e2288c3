#include "report/sweep_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "core/error.h"
#include "report/atomic_file.h"
#include "report/record_fields.h"
#include "report/run_summary.h"

namespace tandem {

template <class Visitor, SameAs<SweepPoint> T>
void visit_fields(Visitor&& field, T& x) {
  field("values", x.values);
  field("repeats", x.repeats);
  field("failure", x.failure);
  field("transport_found", x.transport_found);
  field("caveats", x.caveats);
  field("items_per_s", x.items_per_s);
  field("step_ms", x.step_ms);
  field("exposed_share", x.exposed_share);
  field("overlap_ratio", x.overlap_ratio);
  field("to_best", x.to_best);
}

template <class Visitor, SameAs<SweepResult> T>
void visit_fields(Visitor&& field, T& x) {
  field("keys", x.keys);
  field("model", x.model);
  field("item", x.item);
  field("world_size", x.world_size);
  field("hosts", x.hosts);
  field("planned_repeats", x.planned_repeats);
  field("points", x.points);
  field("best", x.best);
}

namespace {

using Quantity = std::function<std::optional<double>(const RunRecord&)>;

std::optional<double> mean_step_ms(const RunRecord& run) {
  const auto summary = summarize(run);
  const auto step = std::ranges::find(summary.quantities, "step", &QuantitySummary::name);
  return step == summary.quantities.end() ? std::nullopt : std::optional(step->slowest_rank_mean_ms);
}

std::optional<Spread> over_rounds(const SweptPoint& point, const Quantity& quantity) {
  std::vector<double> values;
  for (const auto& run : point.rounds) {
    if (!run) continue;
    const auto value = quantity(*run);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const auto statistics = statistics_of(std::span<const double>(values));
  return statistics ? std::optional(spread_of(*statistics)) : std::nullopt;
}

SweepPoint make_point(const SweptPoint& swept) {
  SweepPoint point{.values = swept.values, .failure = swept.failure};
  for (const auto& run : swept.rounds) {
    if (!run) continue;
    ++point.repeats;
    if (point.transport_found.empty()) point.transport_found = run->link.transport_found;
    for (auto& words : caveats(*run))
      if (std::ranges::find(point.caveats, words) == point.caveats.end())
        point.caveats.push_back(std::move(words));
  }
  point.items_per_s = over_rounds(swept, training_items_per_s);
  point.step_ms = over_rounds(swept, mean_step_ms);
  point.exposed_share = over_rounds(swept, [](const RunRecord& run) { return summarize(run).exposed_share; });
  point.overlap_ratio = over_rounds(swept, [](const RunRecord& run) { return summarize(run).overlap_ratio; });
  return point;
}

Samples throughput_by_round(const SweptPoint& point) {
  Samples samples;
  for (const auto& run : point.rounds) samples.push_back(run ? training_items_per_s(*run) : std::nullopt);
  return samples;
}

const RunRecord& first_run(const std::vector<SweptPoint>& points) {
  for (const auto& point : points)
    for (const auto& run : point.rounds)
      if (run) return *run;
  throw InputError(
      {.what = "No run of the sweep has finished.",
       .where = "the points of the sweep",
       .expected = "at least one run with a record",
       .found = points.empty() || points.front().failure.empty() ? "none" : points.front().failure,
       .advice = "look at the log.txt of the first point, or try it with launcher run"});
}

void require_one_item(const RunRecord& first, const std::vector<SweptPoint>& points) {
  for (const auto& point : points)
    for (const auto& run : point.rounds)
      if (run && run->batch.item != first.batch.item)
        throw InputError({.what = "The points of a sweep count different things.",
                          .where = fmt::format("run \"{}\"", run->name),
                          .expected = first.batch.item,
                          .found = run->batch.item,
                          .advice = "sweep over models of one kind: images or tokens"});
}

void compare_with_best(SweepResult& result, const std::vector<SweptPoint>& swept) {
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& rate = result.points[i].items_per_s;
    if (rate && (!result.best ||
                 rate->median > result.points[static_cast<std::size_t>(*result.best)].items_per_s->median))
      result.best = static_cast<int>(i);
  }
  if (!result.best) return;
  const auto best = throughput_by_round(swept[static_cast<std::size_t>(*result.best)]);
  const auto measured = std::ranges::count_if(
      result.points, [](const SweepPoint& point) { return point.items_per_s.has_value(); });
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (static_cast<int>(i) != *result.best)
      result.points[i].to_best =
          paired_difference(throughput_by_round(swept[i]), best, std::max(1, static_cast<int>(measured) - 1));
}

}  // namespace

std::optional<double> training_items_per_s(const RunRecord& run) {
  if (run.epochs.empty() || run.epochs.front().steps == 0) return std::nullopt;
  const auto& first = run.epochs.front();
  if (const auto step_ms = mean_step_ms(run); step_ms && *step_ms > 0.0)
    return static_cast<double>(first.items) / static_cast<double>(first.steps) / *step_ms * 1e3;
  Samples rates;
  for (const auto& epoch : representative_epochs(run)) rates.push_back(items_per_s(epoch));
  const auto statistics = statistics_of(rates);
  return statistics ? std::optional(statistics->median) : std::nullopt;
}

SweepResult build_sweep(const std::vector<std::string>& keys, const std::vector<SweptPoint>& points,
                        int planned_repeats) {
  const RunRecord& first = first_run(points);
  require_one_item(first, points);
  SweepResult result{.keys = keys,
                     .model = first.model.name,
                     .item = first.batch.item,
                     .world_size = first.world_size,
                     .hosts = first.hosts,
                     .planned_repeats = planned_repeats};
  for (const auto& point : points) {
    TANDEM_EXPECT(point.values.size() == keys.size(), "{} values of {} keys", point.values.size(),
                  keys.size());
    result.points.push_back(make_point(point));
  }
  compare_with_best(result, points);
  return result;
}

std::string point_label(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < keys.size(); ++i) parts.push_back(keys[i] + '=' + values[i]);
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string to_json(const SweepResult& result) {
  Json file = {{"schema", SweepResult::kSchema}};
  file.update(JsonForm<SweepResult>::write(result));
  return render_json(file);
}

SweepResult sweep_from_json(std::string_view text, const std::string& file) {
  Json json = parse_json(text, file);
  const JsonPlace top{&json, &file};
  require_schema(top, SweepResult::kSchema);
  json.erase("schema");
  SweepResult result;
  JsonForm<SweepResult>::read(top, result);
  const bool whole = std::ranges::all_of(result.points,
                                         [&](const SweepPoint& point) {
                                           return point.values.size() == result.keys.size();
                                         }) &&
                     (!result.best || (static_cast<std::size_t>(*result.best) < result.points.size() &&
                                       result.points[static_cast<std::size_t>(*result.best)].items_per_s));
  if (!whole) top.fail("Fields of a sweep contradict each other.", "one value per key, and a best point");
  return result;
}

void write_sweep(const SweepResult& result, const std::filesystem::path& path) {
  write_file_atomically(path, to_json(result));
}

}  // namespace tandem
