#include "page/page_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/run_summary.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 1000;  // of a curve: more than a screen can tell apart
constexpr int kFitPoints = 40;

Json point(double x, double y) {
  return {{"x", x}, {"y", y}};
}

Json bandwidth_series(const std::string& name, const std::vector<AllReduceTime>& times, int ranks,
                      const std::optional<double>& alone) {
  Json points = Json::array(), fitted = Json::array(), level = Json::array();
  double smallest = 0.0, largest = 0.0;
  for (const auto& time : times) {
    const auto bandwidth = all_reduce_bus_gb_per_s(time.bytes, ranks, time.wire_ms);
    if (!bandwidth) continue;
    points.push_back(point(time.bytes, *bandwidth));
    smallest = points.size() == 1 ? time.bytes : std::min(smallest, time.bytes);
    largest = std::max(largest, time.bytes);
  }
  if (const auto fit = fit_link(times, ranks); fit && fit->is_trusted() && smallest > 0.0)
    for (int i = 0; i <= kFitPoints; ++i) {
      const double bytes = smallest * std::pow(largest / smallest, static_cast<double>(i) / kFitPoints);
      fitted.push_back(point(bytes, fitted_bus_gb_per_s(*fit, bytes, ranks)));
    }
  if (alone && !points.empty()) level = {point(smallest, *alone), point(largest, *alone)};
  return {{"name", name}, {"points", points}, {"fit", fitted}, {"alone", level}};
}

Json rank_parts(const RunRecord& run) {
  Json rows = Json::array();
  Json parts = Json::array();
  for (const auto* name : kPartsOfStep) parts.push_back({{"name", name}, {"ms", Json::array()}});
  for (const auto& timing : run.timing) {
    RunRecord one;
    one.warmup_steps = run.warmup_steps;
    one.timing = {timing};
    const auto quantities = summarize(one).quantities;
    rows.push_back("rank " + std::to_string(timing.rank));
    for (auto& part : parts) {
      const auto found =
          std::ranges::find(quantities, part["name"].get<std::string>(), &QuantitySummary::name);
      part["ms"].push_back(found == quantities.end() ? Json(nullptr) : Json(found->steps.mean));
    }
  }
  return {{"rows", rows}, {"parts", parts}};
}

Json bucket_bars(const RunRecord& run) {
  Json labels = Json::array(), wire = Json::array(), beyond = Json::array();
  for (std::size_t b = 0; b < run.buckets.size(); ++b) {
    const auto& time = run.bucket_times->buckets[b];
    const double longest = time.rank_median_ms.empty() ? 0.0 : std::ranges::max(time.rank_median_ms);
    labels.push_back(std::to_string(run.buckets[b].index) + ": " + run.buckets[b].first_parameter);
    wire.push_back(time.wire_ms);
    beyond.push_back(std::max(0.0, longest - time.wire_ms));
  }
  return {{"labels", labels}, {"wire", wire}, {"beyond", beyond}};
}

Json loss_curves(const RunRecord& run) {
  Json training = Json::array(), evaluation = Json::array(), accuracy = Json::array();
  const auto stride = std::max<std::size_t>(1, run.losses.size() / kMostPoints);
  for (std::size_t i = 0; i < run.losses.size(); i += stride)
    training.push_back(point(static_cast<double>(run.losses[i].step), run.losses[i].loss));
  for (const auto& epoch : run.epochs) {
    const auto end = static_cast<double>(epoch.first_step + epoch.steps);
    if (epoch.eval_loss) evaluation.push_back(point(end, *epoch.eval_loss));
    if (epoch.eval_accuracy) accuracy.push_back(point(end, *epoch.eval_accuracy * 100.0));
  }
  return {{"training", training}, {"evaluation", evaluation}, {"accuracy", accuracy}};
}

// Evaluation and accuracy of a run of its own; timing runs have none.
Json losses_of_runs(const std::vector<NamedRun>& runs) {
  Json series = Json::array();
  for (const auto& [name, run, is_row] : runs) {
    if (run == nullptr || run->losses.empty()) continue;
    auto curves = loss_curves(*run);
    curves["name"] = name;
    series.push_back(std::move(curves));
  }
  return series;
}

// The points of a sweep that differ in the first key alone.
struct SweepLine {
  std::string name;  // the other keys' values
  std::vector<const SweepPoint*> points;
};

std::vector<SweepLine> lines_of(const SweepResult& result) {
  std::vector<SweepLine> lines;
  const std::vector<std::string> keys(result.keys.begin() + 1, result.keys.end());
  for (const auto& point : result.points) {
    const auto name = point_label(keys, {point.values.begin() + 1, point.values.end()});
    auto line = std::ranges::find(lines, name, &SweepLine::name);
    if (line == lines.end()) line = lines.insert(lines.end(), {.name = name, .points = {}});
    line->points.push_back(&point);
  }
  return lines;
}

Json sweep_line(const SweepLine& line, const SweepPoint* best) {
  Json rates = Json::array(), ranges = Json::array(), is_best = Json::array();
  for (const auto* point : line.points) {
    const auto& rate = point->items_per_s;
    const bool ranged = rate && point->repeats > 1;
    rates.push_back({{"x", point->values.front()}, {"y", rate ? Json(rate->median) : Json(nullptr)}});
    ranges.push_back(ranged ? Json{rate->min, rate->max} : Json(nullptr));
    is_best.push_back(point == best);
  }
  return {{"name", line.name}, {"points", rates}, {"ranges", ranges}, {"best", is_best}};
}

// A line per link. All begin at the base, which is 1 by definition, whatever its own link is called.
Json scaling_lines(const ScalingResult& result) {
  const auto& base = result.rows.front();
  std::vector<std::string> links;
  for (const auto& row : result.rows)
    if ((&row != &base || result.rows.size() == 1) && std::ranges::find(links, row.label) == links.end())
      links.push_back(row.label);
  Json series = Json::array();
  for (const auto& link : links) {
    Json points = Json::array(), ranges = Json::array();
    for (const auto& row : result.rows) {
      if (&row != &base && row.label != link) continue;
      points.push_back(point(row.ranks, row.ratio.median));
      ranges.push_back(row.repeats > 1 ? Json{row.ratio.min, row.ratio.max} : Json(nullptr));
    }
    series.push_back({{"name", link}, {"points", points}, {"ranges", ranges}});
  }
  return series;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<double> median(const std::optional<Spread>& spread) {
  return spread ? std::optional(spread->median) : std::nullopt;
}

}  // namespace

PageData PageData::of(const RunRecord& run) {
  Json json = Json::object();
  if (!run.timing.empty()) json["parts"] = rank_parts(run);
  if (run.bucket_times) {
    json["buckets"] = bucket_bars(run);
    json["bandwidth"] = {{"series",
                          {bandwidth_series(run.name, all_reduce_times(run), ranks_in_all_reduce(run),
                                            run.link.bus_gb_per_s_standalone)}}};
  }
  if (!run.losses.empty()) json["loss"] = loss_curves(run);
  return PageData(text_of(json));
}

PageData PageData::of(const CompareResult& result, const std::vector<NamedRun>& runs) {
  Json rows = Json::array(), medians = Json::array(), ranges = Json::array(), series = Json::array();
  Json parts = Json::array();
  for (const auto* name : kPartsOfStep) parts.push_back({{"name", name}, {"ms", Json::array()}});
  for (const auto& row : result.rows) {
    rows.push_back(row.label);
    medians.push_back(row.speedup.median);
    ranges.push_back({row.speedup.min, row.speedup.max});
    for (auto& part : parts) {
      const auto found = std::ranges::find(row.parts, part["name"].get<std::string>(), &PartOfStep::part);
      part["ms"].push_back(found == row.parts.end() ? Json(nullptr) : Json(found->ms.median));
    }
    if (!row.all_reduces.empty())
      series.push_back(bandwidth_series(row.label, row.all_reduces, result.ranks_in_all_reduce,
                                        median(row.bus_gb_per_s_standalone)));
  }
  Json json = {{"speedup",
                {{"label", "speedup over " + result.slowest},
                 {"rows", rows},
                 {"median", medians},
                 {"ranges", ranges}}},
               {"parts", {{"rows", rows}, {"parts", parts}}}};
  if (!series.empty()) json["bandwidth"] = {{"series", series}};
  if (auto losses = losses_of_runs(runs); !losses.empty()) json["losses"] = {{"series", std::move(losses)}};
  return PageData(text_of(json));
}

PageData PageData::of(const SweepResult& result) {
  Json labels = Json::array(), series = Json::array();
  const auto* best = result.best ? &result.points[static_cast<std::size_t>(*result.best)] : nullptr;
  for (const auto& line : lines_of(result)) series.push_back(sweep_line(line, best));
  for (const auto& point : result.points)
    if (std::ranges::find(labels, Json(point.values.front())) == labels.end())
      labels.push_back(point.values.front());
  return PageData(text_of({{"sweep",
                            {{"label", result.item + "/s"},
                             {"key", result.keys.front()},
                             {"labels", labels},
                             {"series", series}}}}));
}

PageData PageData::of(const ScalingResult& result) {
  Json ideal = Json::array();
  for (const auto& row : result.rows) ideal.push_back(point(row.ranks, ideal_ratio(result, row.ranks)));
  return PageData(text_of(
      {{"scaling", {{"label", name_of(result.kind)}, {"ideal", ideal}, {"series", scaling_lines(result)}}}}));
}

std::string PageData::script_text() const {
  std::string text;
  for (const char c : json_) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace tandem
