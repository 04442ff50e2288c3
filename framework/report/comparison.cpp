#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "core/error.h"
#include "report/atomic_file.h"
#include "report/compare_fields.h"
#include "report/run_summary.h"

namespace tandem {

namespace {

struct NamedValue {
  const char* field;
  std::string value;
};

// Everything that must be equal for two epoch times to be comparable.
std::vector<NamedValue> comparable_values(const RunRecord& run) {
  return {{"model.name", run.model.name},
          {"model.parameters", fmt::format("{}", run.model.parameters)},
          {"batch.micro", fmt::format("{}", run.batch.micro)},
          {"batch.accumulation", fmt::format("{}", run.batch.accumulation)},
          {"batch.global", fmt::format("{}", run.batch.global)},
          {"batch.item", run.batch.item},
          {"world_size", fmt::format("{}", run.world_size)},
          {"ranks in the all-reduce", fmt::format("{}", ranks_in_all_reduce(run))},
          {"reduction.grouping", run.reduction.grouping},
          {"reduction.update_order", run.reduction.update_order},
          {"recomputed", fmt::format("{} blocks", run.recomputed.size())},
          {"bytes reduced per step", fmt::format("{}", reduced_bytes_per_step(run))},
          {"not_training", fmt::format("{}", run.not_training)},
          {"epochs[0].steps", fmt::format("{}", run.epochs.front().steps)},
          {"epochs[0].items", fmt::format("{}", run.epochs.front().items)},
          {"number of epochs", fmt::format("{}", run.epochs.size())}};
}

void require_equal(const std::vector<NamedValue>& expected, const std::vector<NamedValue>& found,
                   const RunRecord& first, const RunRecord& other) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].value == found[i].value) continue;
    throw InputError({.what = "Runs that differ in more than their link cannot be compared.",
                      .where = fmt::format("{}: run \"{}\"", found[i].field, other.name),
                      .expected = fmt::format("{}, as in run \"{}\"", expected[i].value, first.name),
                      .found = found[i].value,
                      .advice = "Compare runs of one config, or change one thing at a time."});
  }
}

void require_comparable(const RunRecord& first, const RunRecord& other) {
  require_equal(comparable_values(first), comparable_values(other), first, other);
}

// Rows may have different schedules, which says what overlap is worth; repeats of one row may not.
void require_one_schedule(const ComparedLink& link) {
  const auto schedule = [](const RunRecord& run) {
    return std::vector<NamedValue>{{"reduction.schedule", run.reduction.schedule}};
  };
  const RunRecord& first = link.repeats.front();
  for (const auto& run : link.repeats) require_equal(schedule(first), schedule(run), first, run);
}

void require_repeats(const std::vector<ComparedLink>& links) {
  const auto fail = [](std::string what, const std::string& where) {
    throw InputError({.what = std::move(what),
                      .where = where,
                      .expected = "at least one finished epoch of at least one run per link",
                      .found = "none",
                      .advice = "Leave the link out, or run it again."});
  };
  if (links.empty()) fail("There is nothing to compare.", "the list of links");
  for (const auto& link : links) {
    if (link.repeats.empty()) fail("A link has no run to compare.", link.label);
    for (const auto& run : link.repeats)
      if (run.epochs.empty()) fail("A run without epochs cannot be compared.", run.name);
  }
}

// The spread over repeats of a value; none unless all repeats have it.
std::optional<Spread> over_repeats(const ComparedLink& link,
                                   const std::function<std::optional<double>(const RunRecord&)>& value) {
  std::vector<double> values;
  for (const auto& run : link.repeats) {
    const auto found = value(run);
    if (!found) return std::nullopt;
    values.push_back(*found);
  }
  return spread_of(*statistics_of(std::span<const double>(values)));
}

std::optional<double> median_over_epochs(
    const RunRecord& run, const std::function<std::optional<double>(const EpochRecord&)>& value) {
  Samples samples;
  for (const auto& epoch : representative_epochs(run)) samples.push_back(value(epoch));
  const auto statistics = statistics_of(samples);
  return statistics ? std::optional(statistics->median) : std::nullopt;
}

std::vector<PartOfStep> parts_of(const ComparedLink& link) {
  std::vector<PartOfStep> parts;
  for (const auto* name : kPartsOfStep) {
    const auto mean_ms = [&](const RunRecord& run) -> std::optional<double> {
      for (const auto& quantity : summarize(run).quantities)
        if (quantity.name == name) return quantity.steps.mean;
      return std::nullopt;
    };
    if (const auto spread = over_repeats(link, mean_ms)) parts.push_back({.part = name, .ms = *spread});
  }
  return parts;
}

std::vector<AllReduceTime> all_reduces_of(const ComparedLink& link) {
  std::vector<AllReduceTime> mean = all_reduce_times(link.repeats.front());
  for (auto& time : mean) time.wire_ms = 0.0;
  for (const auto& run : link.repeats) {
    const auto times = all_reduce_times(run);
    if (times.size() != mean.size()) return {};
    for (std::size_t b = 0; b < mean.size(); ++b)
      mean[b].wire_ms += times[b].wire_ms / static_cast<double>(link.repeats.size());
  }
  return mean;
}

// All pairs of all repeats count alike.
std::optional<ContentionSummary> control_of(const ComparedLink& link) {
  ControlRecord all;
  for (const auto& run : link.repeats) {
    if (!run.control || run.control->segments.size() < 2) return std::nullopt;
    const auto& segments = run.control->segments;
    const auto paired = static_cast<std::ptrdiff_t>(segments.size() / 2 * 2);
    all.segments.insert(all.segments.end(), segments.begin(), segments.begin() + paired);
  }
  return summarize_control(all);
}

std::string transports_of(const ComparedLink& link) {
  std::vector<std::string> distinct;
  for (const auto& run : link.repeats)
    if (std::find(distinct.begin(), distinct.end(), run.link.transport_found) == distinct.end())
      distinct.push_back(run.link.transport_found);
  return fmt::format("{}", fmt::join(distinct, " / "));
}

CompareRow make_row(const ComparedLink& link) {
  CompareRow row;
  row.label = link.label;
  row.asked = link.asked;
  row.transport_found = transports_of(link);
  row.repeats = static_cast<int>(link.repeats.size());
  for (const auto& run : link.repeats)
    for (auto& words : caveats(run))
      if (std::find(row.caveats.begin(), row.caveats.end(), words) == row.caveats.end())
        row.caveats.push_back(std::move(words));
  const auto wall_s = [](const EpochRecord& epoch) { return std::optional(epoch.wall_s); };
  row.epoch_s = *over_repeats(link, [&](const RunRecord& run) { return median_over_epochs(run, wall_s); });
  row.items_per_s =
      over_repeats(link, [](const RunRecord& run) { return median_over_epochs(run, items_per_s); });
  row.exposed_share = over_repeats(link, [](const RunRecord& run) { return summarize(run).exposed_share; });
  row.busy_share = over_repeats(link, [](const RunRecord& run) { return summarize(run).busy_share; });
  row.overlap_ratio = over_repeats(link, [](const RunRecord& run) { return summarize(run).overlap_ratio; });
  row.bus_gb_per_s_in_training =
      over_repeats(link, [](const RunRecord& run) { return summarize(run).bus_gb_per_s_in_training; });
  row.bus_gb_per_s_standalone =
      over_repeats(link, [](const RunRecord& run) { return run.link.bus_gb_per_s_standalone; });
  row.bytes_per_step = reduced_bytes_per_step(link.repeats.front());
  row.command_line = link.repeats.front().command_line;
  row.parts = parts_of(link);
  row.control = control_of(link);
  row.all_reduces = all_reduces_of(link);
  row.conclusions = conclusions_of(median_repeat(link));
  return row;
}

// The epoch time of each repeat.
Samples epoch_times(const ComparedLink& link) {
  const auto wall_s = [](const EpochRecord& epoch) { return std::optional(epoch.wall_s); };
  Samples times;
  for (const auto& run : link.repeats) times.push_back(median_over_epochs(run, wall_s));
  return times;
}

void fill_paired_speedups(CompareResult& result, const std::vector<ComparedLink>& links) {
  const auto slowest = std::ranges::find(links, result.slowest, &ComparedLink::label);
  const auto others = std::max(1, static_cast<int>(links.size()) - 1);
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].label == result.slowest || !links[i].in_rounds || !slowest->in_rounds) continue;
    result.rows[i].paired_speedup = paired_difference(epoch_times(*slowest), epoch_times(links[i]), others);
  }
}

std::string machine_of(const RunRecord& run) {
  std::vector<std::string> hosts;
  for (const auto& host : run.hosts) hosts.push_back(fmt::format("{} ({})", host.name, host.processor));
  return fmt::format("{}", fmt::join(hosts, " + "));
}

void name_machines(CompareResult& result, const std::vector<ComparedLink>& links) {
  const auto first = machine_of(links.front().repeats.front());
  const bool several = std::ranges::any_of(links, [&](const ComparedLink& link) {
    return std::ranges::any_of(link.repeats, [&](const RunRecord& run) { return machine_of(run) != first; });
  });
  if (!several) return;
  for (std::size_t i = 0; i < links.size(); ++i) {
    result.rows[i].machine = machine_of(links[i].repeats.front());
    for (const auto& host : links[i].repeats.front().hosts)
      if (std::ranges::find(result.hosts, host) == result.hosts.end()) result.hosts.push_back(host);
  }
}

void fill_speedups(CompareResult& result) {
  const auto slowest = std::max_element(
      result.rows.begin(), result.rows.end(),
      [](const CompareRow& a, const CompareRow& b) { return a.epoch_s.median < b.epoch_s.median; });
  result.slowest = slowest->label;
  const Spread base = slowest->epoch_s;
  for (auto& row : result.rows) {
    TANDEM_EXPECT(row.epoch_s.min > 0.0, "an epoch of row \"{}\" took {} s", row.label, row.epoch_s.min);
    row.speedup = {.median = base.median / row.epoch_s.median,
                   .min = base.min / row.epoch_s.max,
                   .max = base.max / row.epoch_s.min};
  }
}

AccuracyRecord make_accuracy(const RunRecord& run) {
  TANDEM_EXPECT(run.results && run.results->total > 0, "the accuracy run \"{}\" has no results", run.name);
  return {.run = run.name,
          .link = run.link.asked,
          .epochs = static_cast<int>(run.epochs.size()),
          .correct = run.results->correct,
          .total = run.results->total};
}

template <class Change>
void change_rows(Json& json, Change change) {
  if (!json.contains("rows") || !json["rows"].is_array()) return;  // told by the reader
  for (auto& row : json["rows"])
    if (row.is_object()) change(row);
}

// Each version knew nothing of what is added here.
void upgrade_from_1(Json& json) {
  if (json.contains("model") && json["model"].is_object()) json["model"]["flops_per_item"] = nullptr;
  const Json same_as_ranks = json.value("world_size", Json(1));
  json["ranks_in_all_reduce"] = same_as_ranks;
  for (const auto* text : {"started", "command_line"}) json[text] = "";
  for (const auto* map : {"versions", "environment", "clocks_mhz"}) json[map] = Json::object();
  json["topology"] = Json::array();
  json["program"] = {{"version", ""}, {"git", "unknown"}, {"build", ""}};
  change_rows(json, [](Json& row) {
    row["paired_speedup"] = nullptr;
    for (const auto* text : {"machine", "command_line"}) row[text] = "";
    for (const auto* list : {"parts", "all_reduces", "conclusions"}) row[list] = Json::array();
  });
}

void upgrade_from_2(Json& json) {
  if (json.contains("batch") && json["batch"].is_object() && !json["batch"].contains("steps_per_epoch"))
    json["batch"]["steps_per_epoch"] = 0U;  // not known; some files of version 2 have it
  add_pcie_routes(json);
  change_rows(json, [](Json& row) { row["control"] = nullptr; });
}

void upgrade(Json& json) {
  if (!json.is_object()) return;
  const auto schema = json.value("schema", Json());
  if (std::ranges::find(CompareResult::kOldSchemas, schema) == std::end(CompareResult::kOldSchemas)) return;
  if (schema == CompareResult::kOldSchemas[0]) upgrade_from_1(json);
  upgrade_from_2(json);
  json["schema"] = CompareResult::kSchema;
}

}  // namespace

const RunRecord& median_repeat(const ComparedLink& link) {
  const auto epoch_s = [](const RunRecord& run) {
    return median_over_epochs(run, [](const EpochRecord& epoch) { return std::optional(epoch.wall_s); });
  };
  std::vector<const RunRecord*> sorted;
  for (const auto& run : link.repeats) sorted.push_back(&run);
  std::ranges::stable_sort(sorted, std::less(),
                           [&](const RunRecord* run) { return epoch_s(*run).value_or(0.0); });
  return *sorted[(sorted.size() - 1) / 2];
}

CompareResult build_comparison(const std::vector<ComparedLink>& links,
                               const std::optional<RunRecord>& accuracy) {
  require_repeats(links);
  const RunRecord& first = links.front().repeats.front();
  CompareResult result{.model = first.model,
                       .batch = first.batch,
                       .reduction = first.reduction,
                       .world_size = first.world_size,
                       .ranks_in_all_reduce = ranks_in_all_reduce(first),
                       .hosts = first.hosts,
                       .topology = first.topology,
                       .started = first.started,
                       .program = first.program,
                       .versions = first.versions,
                       .environment = first.environment};
  for (const auto& link : links) {
    for (const auto& run : link.repeats) require_comparable(first, run);
    require_one_schedule(link);
    CompareRow& row = result.rows.emplace_back(make_row(link));
    const auto& schedule = link.repeats.front().reduction.schedule;
    if (schedule != result.reduction.schedule) row.caveats.push_back("schedule " + schedule);
  }
  fill_speedups(result);
  fill_paired_speedups(result, links);
  name_machines(result, links);
  if (accuracy) result.accuracy = make_accuracy(*accuracy);
  return result;
}

std::string to_json(const CompareResult& result) {
  Json file = {{"schema", CompareResult::kSchema}};
  file.update(JsonForm<CompareResult>::write(result));
  return render_json(file);
}

CompareResult comparison_from_json(std::string_view text, const std::string& file) {
  Json json = parse_json(text, file);
  const JsonPlace top{&json, &file};
  upgrade(json);
  require_schema(top, CompareResult::kSchema);
  json.erase("schema");
  CompareResult result;
  JsonForm<CompareResult>::read(top, result);
  return result;
}

CompareResult read_comparison(const std::filesystem::path& path) {
  return comparison_from_json(read_file(path), path.string());
}

void write_comparison(const CompareResult& result, const std::filesystem::path& path) {
  write_file_atomically(path, to_json(result));
}

}  // namespace tandem
