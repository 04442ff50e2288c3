#include "page/compare_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/assets.h"
#include "page/html_text.h"
#include "page/machine_picture.h"
#include "page/page_frame.h"
#include "page/page_template.h"
#include "page/run_sections.h"
#include "page/topology_picture.h"
#include "report/run_summary.h"
#include "report/step_quantities.h"
#include "report/table_text.h"
#include "report/tables.h"

namespace tandem {
namespace {

PageValues empty_values() {
  PageValues values;
  for (const char* name :
       {"tiles",          "compare_table", "speedup_words",   "row_count", "warnings",      "accuracy",
        "part_table",     "limits",        "bandwidth_table", "diff",      "machine",       "machine_table",
        "facts",          "versions",      "variables",       "commands",  "control_table", "timelines",
        "timeline_words", "missing_runs",  "loss_table"})
    values[name];
  return values;
}

const CompareRow& fastest_of(const CompareResult& result) {
  return *std::ranges::max_element(result.rows, {}, [](const CompareRow& row) { return row.speedup.median; });
}

std::vector<Tile> tiles_of(const CompareResult& result) {
  const auto& fastest = fastest_of(result);
  const bool ranges = fastest.repeats > 1;
  std::vector<Tile> tiles = {
      {"fastest link", fastest.label, with_caveats(fastest.transport_found, fastest.caveats)},
      {"speedup over " + result.slowest, fmt::format("{:.2f}×", fastest.speedup.median),
       ranges ? fmt::format("{:.2f}–{:.2f} over {} repeats", fastest.speedup.min, fastest.speedup.max,
                            fastest.repeats)
              : "one run each"},
      {"its epoch time", number(fastest.epoch_s.median, 2) + " s",
       fastest.items_per_s
           ? fmt::format("{} {}/s",
                         number(fastest.items_per_s->median, decimals_for(fastest.items_per_s->median)),
                         result.batch.item)
           : ""}};
  for (const auto& row : result.rows)
    if (row.label == result.slowest && row.exposed_share)
      tiles.push_back(
          {"exposed communication on " + row.label, percent(row.exposed_share->median) + " %",
           fastest.exposed_share ? percent(fastest.exposed_share->median) + " % on " + fastest.label : ""});
  if (const auto& run = result.accuracy; run && run->total > 0)
    tiles.push_back(
        {"accuracy",
         fmt::format("{:.2f} %", 100.0 * static_cast<double>(run->correct) / static_cast<double>(run->total)),
         "from a run of its own"});
  return tiles;
}

TextTable part_table(const CompareResult& result) {
  std::vector<TextTable::Column> columns = {{"link", Align::Left}};
  for (const auto* part : kPartsOfStep) columns.push_back({fmt::format("{} ms", part)});
  TextTable table(std::move(columns));
  for (const auto& row : result.rows) {
    std::vector<std::string> cells = {row.label};
    for (const auto* name : kPartsOfStep) {
      const auto part = std::ranges::find(row.parts, name, &PartOfStep::part);
      cells.push_back(part == row.parts.end() ? kNoValue : spread(part->ms, 3, row.repeats > 1));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

TextTable bandwidth_table(const CompareResult& result) {
  TextTable table({{"link", Align::Left}, {"bucket"}, {"bytes"}, {"wire ms"}, {"bus GB/s"}});
  for (const auto& row : result.rows)
    for (std::size_t b = 0; b < row.all_reduces.size(); ++b) {
      const auto& time = row.all_reduces[b];
      table.add_row(
          {row.label, fmt::format("{}", b), with_thousands(static_cast<std::int64_t>(time.bytes)),
           number(time.wire_ms, 3),
           number(all_reduce_bus_gb_per_s(time.bytes, result.ranks_in_all_reduce, time.wire_ms), 3)});
    }
  return table;
}

std::string limits_of(const CompareResult& result) {
  std::string html;
  for (const auto& row : result.rows)
    if (!row.conclusions.empty())
      html += fmt::format("<h3>{}</h3>\n{}", escape_html(row.label), html_conclusions(row.conclusions, 4));
  return html;
}

std::string warnings_of(const CompareResult& result) {
  const auto median = [](const std::optional<Spread>& value) {
    return value ? std::optional(value->median) : std::nullopt;
  };
  std::string html;
  for (const auto& row : result.rows) {
    auto words = bandwidth_warning(row.label, median(row.bus_gb_per_s_in_training),
                                   median(row.bus_gb_per_s_standalone));
    std::erase(words, '*');
    if (!words.empty()) html += fmt::format("<p class=\"warning\">{}</p>\n", escape_html(words));
  }
  return html;
}

std::string commands_of(const CompareResult& result) {
  const auto block = [](const std::string& label, const std::string& command) {
    return fmt::format("<h3>{}</h3>\n<pre tabindex=\"0\"><code>{}</code></pre>\n", escape_html(label),
                       escape_html(command));
  };
  std::string html;
  if (!result.command_line.empty()) html += block("All of it", result.command_line);
  for (const auto& row : result.rows)
    html += block(row.label + ", one run", job_command(row.command_line, result.world_size));
  return html;
}

std::string diff_section(const RecordDiff& diff) {
  std::string html = fmt::format("<p>A: {}<br>B: {}</p>\n<p>{}</p>\n", escape_html(diff.a),
                                 escape_html(diff.b), escape_html(moved_line(diff)));
  html += diff.changed.empty() ? "<p>Nothing changed that the records know of.</p>\n"
                               : html_table(changed_table(diff), "What changed");
  if (!diff.moved.empty())
    html += html_table(moved_table(diff), "What moved; noise: half the sum of both ranges");
  return html;
}

bool is_gpu_comparison(const CompareResult& result) {
  return result.versions.contains("CUDA runtime");
}

}  // namespace

std::vector<std::optional<RunRecord>> runs_for_page(const std::vector<ComparedLink>& links) {
  std::vector<std::optional<RunRecord>> runs;
  for (const auto& link : links)
    runs.push_back(link.repeats.empty() ? std::nullopt : std::optional(median_repeat(link)));
  return runs;
}

std::string compare_page(const CompareResult& result, const ComparePageExtras& extras) {
  const auto title = fmt::format("{}: {} links compared", result.model.name, result.rows.size());
  const auto& fastest = fastest_of(result);
  auto values = empty_values();
  values["kind"] = "Comparison";
  values["title"] = escape_html(title);
  values["lead"] = escape_html(
      fmt::format("{}; {}", batch_line(result.batch, result.world_size), hosts_line(result.hosts)));
  values["tiles"] = html_tiles(tiles_of(result));
  values["row_count"] = fmt::format("{}", result.rows.size());
  values["compare_table"] = html_table(compare_table(result), "Medians over repeats, with (min–max)");
  values["speedup_words"] = escape_html(fmt::format(
      "Speedup = epoch time of {} / epoch time of the row. Its range is the widest that the repeats of both "
      "allow; one that contains 1 has not been shown.",
      result.slowest));
  values["warnings"] = warnings_of(result);
  if (const auto& run = result.accuracy)
    values["accuracy"] =
        escape_html(fmt::format("Accuracy, from a run of its own ({}, link {}, {} epochs): {}.", run->run,
                                run->link, run->epochs, accuracy_text(run->correct, run->total)));
  values["part_table"] = html_table(part_table(result), "Parts of the step");
  values["limits"] = limits_of(result);
  if (const auto table = bandwidth_table(result); table.rows() > 0)
    values["bandwidth_table"] = html_table(table, "All-reduces in training");
  if (const auto table = control_table(result); table.rows() > 0)
    values["control_table"] = html_table(table, "Per step, medians over pairs of segments, with (min–max)");
  const auto runs = runs_of_rows(result, extras);
  values["missing_runs"] = missing_runs(runs);
  values["timelines"] = timelines_of(runs);
  values["loss_table"] = loss_table_of(runs);
  if (extras.diff) values["diff"] = diff_section(*extras.diff);
  const auto transport = with_caveats(fastest.transport_found, fastest.caveats);
  values["machine"] = result.topology.empty()
                          ? machine_picture(result.hosts, transport, is_gpu_comparison(result))
                          : topology_picture(result.topology, transport);
  values["machine_table"] = html_table(machine_table(result.hosts), "Hosts");
  if (!result.topology.empty()) values["machine_table"] += topology_tables(result.topology);
  values["facts"] = html_facts({{"model", fmt::format("{}, {} parameters", result.model.name,
                                                      with_thousands(result.model.parameters))},
                                {"batch", batch_line(result.batch, result.world_size)},
                                {"reduction", reduction_line(result.reduction)},
                                {"program", fmt::format("tandem {} ({}, {})", result.program.version,
                                                        result.program.git, result.program.build)},
                                {"started", result.started}},
                               "The runs");
  values["versions"] = html_facts(result.versions, "Versions");
  values["variables"] = html_facts(result.environment, "Environment variables");
  values["commands"] = commands_of(result);
  return framed_page(title, fill_template(assets::compare, values), PageData::of(result, runs));
}

std::string diff_page(const RecordDiff& diff) {
  auto values = empty_values();
  values["kind"] = "Difference";
  values["title"] = "Two records beside each other";
  values["lead"];
  values["diff"] = diff_section(diff);
  return framed_page("Difference", fill_template(assets::compare, values), PageData::none());
}

}  // namespace tandem
