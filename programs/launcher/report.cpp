#include "launcher/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "core/error.h"
#include "page/compare_page.h"
#include "page/run_page.h"
#include "page/scaling_page.h"
#include "page/sweep_page.h"
#include "report/atomic_file.h"
#include "report/comparison.h"
#include "report/launch_record.h"
#include "report/record_diff.h"
#include "report/report_file.h"
#include "report/run_record.h"
#include "report/scaling.h"
#include "report/sweep_result.h"
#include "report/tables.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Report = std::variant<RunRecord, CompareResult, SweepResult, LaunchRecord>;

bool there_is(const fs::path& file) {
  std::error_code ignored;  // what cannot be looked at is a matter of reading it
  return fs::exists(file, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// A run that ended badly left no record of its own: one that lies there is an earlier run's.
bool ended_badly(const fs::path& folder) {
  return there_is(folder / "launch.json") &&
         read_launch_record(folder / "launch.json").state != LaunchRecord::kFinished;
}

fs::path file_of(const fs::path& input) {
  if (!is_folder(input)) return input;
  for (const auto* name : {"sweep.json", "compare.json"})
    if (there_is(input / name)) return input / name;
  if (ended_badly(input)) return input / "launch.json";
  for (const auto* name : {"record.json", "launch.json"})
    if (there_is(input / name)) return input / name;
  throw InputError({.what = "A folder has no result to show.",
                    .where = input.string(),
                    .expected = "sweep.json, compare.json, record.json or launch.json in it",
                    .found = "none of them",
                    .advice = "name the folder of one run, of a whole comparison or of a sweep"});
}

Report read_report(const fs::path& input) {
  const auto path = file_of(input);
  const auto text = read_file(path);
  const auto schema = schema_of(text, path.string());
  if (schema == CompareResult::kSchema ||
      std::ranges::find(CompareResult::kOldSchemas, schema) != std::end(CompareResult::kOldSchemas))
    return comparison_from_json(text, path.string());
  if (schema == SweepResult::kSchema) return sweep_from_json(text, path.string());
  if (schema == LaunchRecord::kSchema) return launch_record_from_json(text, path.string());
  return run_record_from_json(text, path.string());
}

// As `launcher compare --links` writes the same link.
std::string label_of(const RunRecord& run) {
  std::string label = run.link.asked.empty() ? run.link.transport_found : run.link.asked;
  if (const auto& pace = run.link.paced) {
    std::string parts;
    if (pace->gbit_per_s > 0.0) parts = fmt::format("{}gbit", pace->gbit_per_s);
    if (pace->latency_us > 0.0) parts += fmt::format("{}{}us", parts.empty() ? "" : "+", pace->latency_us);
    label += '@' + parts;
  }
  if (run.reduction.schedule == "after") label += "-no-overlap";
  return label;
}

// What makes two runs repeats of one row: the same link, machine and config, but for how a run is called,
// whether it evaluates and its seed.
std::map<std::string, std::string> identity_of(const RunRecord& run) {
  auto identity = written_values(run.config);
  std::erase_if(identity, [](const auto& entry) {
    return entry.first.starts_with("report.") || entry.first == "train.eval_every" || entry.first == "seed";
  });
  identity["link"] = label_of(run);
  identity["transport"] = run.link.description;
  for (const auto& host : run.hosts)
    identity["host " + host.name] = fmt::format("{}, {} ranks", host.processor, host.ranks);
  return identity;
}

struct Group {
  std::map<std::string, std::string> identity;
  ComparedLink link;
};

// Groups with the same label are told apart by what differs: "tcp comm.backend=ring".
void tell_apart(std::vector<Group>& groups) {
  std::vector<std::string> labels;
  for (const auto& group : groups) labels.push_back(group.link.label);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::map<std::string, std::string> different;
    for (std::size_t j = 0; j < groups.size(); ++j) {
      if (i == j || labels[i] != labels[j]) continue;
      for (const auto& [key, value] : groups[i].identity) {
        const auto other = groups[j].identity.find(key);
        const bool hidden = key.starts_with("host ") || key == "transport" || key == "link";
        if (!hidden && (other == groups[j].identity.end() || other->second != value)) different[key] = value;
      }
    }
    for (const auto& [key, value] : different) groups[i].link.label += fmt::format(" {}={}", key, value);
  }
}

// Groups that still share a label differ in their machine or in what the program found.
void number_the_rest(std::vector<Group>& groups) {
  std::map<std::string, int> seen;
  for (auto& group : groups)
    if (const int times = ++seen[group.link.label]; times > 1) group.link.label += fmt::format(" #{}", times);
}

// Rows in the order in which their first run was named.
std::vector<ComparedLink> grouped(std::vector<RunRecord> runs) {
  std::vector<Group> groups;
  for (auto& run : runs) {
    auto identity = identity_of(run);
    auto group = std::ranges::find(groups, identity, &Group::identity);
    if (group == groups.end())
      group = groups.insert(groups.end(), {.identity = std::move(identity),
                                           .link = {.label = label_of(run), .asked = run.link.asked}});
    group->link.repeats.push_back(std::move(run));
  }
  tell_apart(groups);
  number_the_rest(groups);
  std::vector<ComparedLink> links;
  for (auto& group : groups) links.push_back(std::move(group.link));
  return links;
}

// Every finished timing run below a comparison or a sweep, by path.
std::vector<fs::path> records_below(const fs::path& folder) {
  std::vector<fs::path> records;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto& path = entry.path();
    if (path.filename() == "record.json" && path.parent_path().filename().string().starts_with("repeat-"))
      records.push_back(path);
  }
  std::ranges::sort(records);
  return records;
}

std::vector<RunRecord> read_runs(const std::vector<fs::path>& inputs) {
  std::vector<RunRecord> runs;
  for (const auto& input : inputs) {
    const auto file = file_of(input);
    const bool series = file.filename() == "compare.json" || file.filename() == "sweep.json";
    const auto records = series ? records_below(file.parent_path()) : std::vector<fs::path>{file};
    if (series && records.empty())
      throw InputError({.what = "A comparison without its run records cannot be part of another one.",
                        .where = input.string(),
                        .expected = "*/repeat-*/record.json beside it",
                        .found = "none",
                        .advice = "copy the whole folder, or show the comparison alone"});
    for (const auto& record : records) {
      auto report = read_report(record);
      auto* run = std::get_if<RunRecord>(&report);
      if (run == nullptr)
        throw InputError({.what = "Only finished runs can be compared.",
                          .where = record.string(),
                          .expected = "a run record, or the folder of a comparison",
                          .found = "something else, or a run that did not finish",
                          .advice = "leave it out, or show it alone"});
      runs.push_back(std::move(*run));
    }
  }
  return runs;
}

bool same_number_of_ranks(const std::vector<RunRecord>& runs) {
  return std::ranges::all_of(runs,
                             [&](const RunRecord& run) { return run.world_size == runs.front().world_size; });
}

ScalingResult scaling_of(std::vector<RunRecord> runs) {
  std::vector<LabelledRun> labelled;
  for (auto& run : runs) {
    auto label = label_of(run);
    labelled.push_back({.label = std::move(label), .run = std::move(run)});
  }
  return build_scaling(labelled);
}

// The runs that `launcher compare` leaves beside its result: <link>/repeat-<r>/ and accuracy/. A row whose
// runs are not there has none; neither has one whose label is not a folder's name.
ComparePageExtras runs_beside(const CompareResult& result, const fs::path& folder) {
  ComparePageExtras extras;
  for (const auto& row : result.rows) {
    ComparedLink link{.label = row.label, .asked = row.asked};
    if (!row.label.empty() && fs::path(row.label).filename() == row.label && is_folder(folder / row.label))
      for (const auto& record : records_below(folder / row.label))
        link.repeats.push_back(read_run_record(record));
    std::erase_if(link.repeats, [](const RunRecord& run) { return run.epochs.empty(); });
    extras.runs.push_back(link.repeats.empty() ? std::nullopt : std::optional(median_repeat(link)));
  }
  if (const auto record = folder / "accuracy" / "record.json"; result.accuracy && there_is(record))
    extras.accuracy = read_run_record(record);
  return extras;
}

// A comparison made of records here and now, with what its page shows beside it.
struct Compared {
  CompareResult result;
  ComparePageExtras extras;
};

Compared compared(std::vector<RunRecord> runs) {
  const auto links = grouped(std::move(runs));
  return {.result = build_comparison(links),
          .extras = {.runs = runs_for_page(links), .accuracy = {}, .diff = {}}};
}

std::string render(const CompareResult& result, ReportFormat format) {
  if (format == ReportFormat::Html) return compare_page(result);
  return format == ReportFormat::Csv ? compare_csv_table(result).csv() : compare_markdown(result);
}

std::string render(const Compared& compared, ReportFormat format) {
  if (format == ReportFormat::Html) return compare_page(compared.result, compared.extras);
  return render(compared.result, format);
}

std::string render(const ScalingResult& result, ReportFormat format) {
  if (format == ReportFormat::Html) return scaling_page(result);
  return format == ReportFormat::Csv ? scaling_csv_table(result).csv() : scaling_markdown(result);
}

std::string render(const RunRecord& run, ReportFormat format) {
  if (format == ReportFormat::Html) return run_page(run);
  return format == ReportFormat::Csv ? step_table(run).csv() : run_markdown(run);
}

// Two runs may differ in too much for a table of links; then only the difference is shown.
std::optional<Compared> comparison_of_two(std::vector<RunRecord> runs) {
  try {
    auto two = compared(std::move(runs));
    return two.result.rows.size() == 2 ? std::optional(std::move(two)) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string scaling_text(std::vector<RunRecord> runs) {
  try {
    return scaling_markdown(scaling_of(std::move(runs))) + '\n';
  } catch (const InputError&) {
    return {};
  }
}

std::string with_difference(std::optional<Compared> together, const RecordDiff& diff, ReportFormat format) {
  if (!together) return format == ReportFormat::Html ? diff_page(diff) : diff_markdown(diff);
  if (format != ReportFormat::Html) return render(*together, format) + '\n' + diff_markdown(diff);
  together->extras.diff = diff;
  return render(*together, format);
}

// Their common table, if they have one, and what lies between them.
std::string render_two(std::vector<RunRecord> runs, ReportFormat format) {
  const auto diff = diff_runs(runs[0], runs[1]);
  const bool same_ranks = same_number_of_ranks(runs);
  if (same_ranks) return with_difference(comparison_of_two(std::move(runs)), diff, format);
  if (format == ReportFormat::Html) return diff_page(diff);
  return scaling_text(std::move(runs)) + diff_markdown(diff);
}

std::string render_several(std::vector<RunRecord> runs, ReportFormat format) {
  if (runs.size() == 2 && format != ReportFormat::Csv) return render_two(std::move(runs), format);
  if (!same_number_of_ranks(runs)) return render(scaling_of(std::move(runs)), format);
  return render(compared(std::move(runs)), format);
}

// The table of all their runs, where the runs are there and belong into one table, and what lies between the
// two.
std::string render_two(const std::vector<fs::path>& inputs, const CompareResult& a, const CompareResult& b,
                       ReportFormat format) {
  const auto diff = diff_comparisons(a, b);
  auto together = [&]() -> std::optional<Compared> {
    try {
      return compared(read_runs(inputs));
    } catch (const InputError&) {
      return std::nullopt;
    }
  }();
  return with_difference(std::move(together), diff, format);
}

std::string render(const SweepResult& result, ReportFormat format) {
  if (format == ReportFormat::Html) return sweep_page(result);
  return format == ReportFormat::Csv ? sweep_csv_table(result).csv() : sweep_markdown(result);
}

std::string render(const LaunchRecord& launch, ReportFormat format) {
  if (format == ReportFormat::Html)
    throw InputError({.what = "A run that did not finish has no page.",
                      .where = "the command line",
                      .expected = "--format md or csv",
                      .found = "--html",
                      .advice = "name a run that finished, a comparison or a sweep"});
  return launch_markdown(launch);
}

}  // namespace

std::string render_report(const std::vector<fs::path>& inputs, ReportFormat format) {
  TANDEM_EXPECT(!inputs.empty(), "there is nothing to report");
  const bool html = format == ReportFormat::Html;
  if (inputs.size() == 1) {
    const auto report = read_report(inputs.front());
    if (const auto* result = std::get_if<CompareResult>(&report); result != nullptr && html)
      return compare_page(*result, runs_beside(*result, file_of(inputs.front()).parent_path()));
    return std::visit([format](const auto& one) { return render(one, format); }, report);
  }
  if (inputs.size() == 2 && format != ReportFormat::Csv) {
    const auto first = read_report(inputs[0]), second = read_report(inputs[1]);
    const auto* a = std::get_if<CompareResult>(&first);
    const auto* b = std::get_if<CompareResult>(&second);
    if (a != nullptr && b != nullptr) return render_two(inputs, *a, *b, format);
  }
  return render_several(read_runs(inputs), format);
}

}  // namespace tandem
