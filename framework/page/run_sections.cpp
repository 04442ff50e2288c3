#include "page/run_sections.h"

#include <fmt/format.h>

#include <map>

#include "core/error.h"
#include "page/html_text.h"
#include "page/timeline_picture.h"
#include "report/table_text.h"

namespace tandem {
namespace {

constexpr std::size_t kRanksPerLink = 2;  // two show who waits for whom; more would push links apart

double exposed_in(const RankStepRecord& rank) {
  double sum = 0.0;
  for (std::size_t w = 0; w < rank.wait_begin_ms.size(); ++w)
    sum += rank.wait_end_ms[w] - rank.wait_begin_ms[w];
  return sum;
}

// Null where there is none to draw.
const StepTimelineRecord* step_of(const NamedRun& row) {
  return row.run != nullptr && row.is_row ? shown_step(*row.run) : nullptr;
}

// "Step 40: rank 0 waits 0.412 of 31.7 ms"
std::string step_words(const StepTimelineRecord& step) {
  std::vector<std::string> ranks;
  for (std::size_t r = 0; r < std::min(step.ranks.size(), kRanksPerLink); ++r) {
    const auto& rank = step.ranks[r];
    ranks.push_back(
        fmt::format("rank {} waits {:.3f} of {:.3f} ms", rank.rank, exposed_in(rank), rank.next_begin_ms));
  }
  auto words = fmt::format("Step {}: {}.", step.step, fmt::join(ranks, ", "));
  if (step.ranks.size() > kRanksPerLink)
    words += fmt::format(" The first {} of {} ranks are drawn.", kRanksPerLink, step.ranks.size());
  return words;
}

}  // namespace

std::vector<NamedRun> runs_of_rows(const CompareResult& result, const ComparePageExtras& extras) {
  TANDEM_EXPECT(extras.runs.empty() || extras.runs.size() == result.rows.size(), "{} runs for {} rows",
                extras.runs.size(), result.rows.size());
  std::vector<NamedRun> runs;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const bool there = i < extras.runs.size() && extras.runs[i].has_value();
    runs.push_back({result.rows[i].label, there ? &*extras.runs[i] : nullptr});
  }
  if (result.accuracy) runs.push_back({"accuracy run", extras.accuracy ? &*extras.accuracy : nullptr, false});
  return runs;
}

std::string missing_runs(const std::vector<NamedRun>& runs) {
  std::vector<std::string> names;
  for (const auto& [name, run, is_row] : runs)
    if (run == nullptr) names.push_back(name);
  if (names.empty()) return {};
  return escape_html(fmt::format(
      "Not drawn, since the run records are not beside this comparison: the timeline and the losses of {}.",
      fmt::join(names, ", ")));
}

std::string timelines_of(const std::vector<NamedRun>& runs) {
  TimelineView view{.range = TimeRange{}, .most_ranks = kRanksPerLink};
  for (const auto& row : runs)
    if (const auto* step = step_of(row)) view.range->include(time_range(*step, *row.run));
  std::string html;
  for (const auto& row : runs) {
    const auto* step = step_of(row);
    if (step == nullptr) continue;
    const auto& [name, run, is_row] = row;
    const auto title = escape_html(name);
    html += fmt::format(
        "<h3>{0}</h3>\n<p>{1}</p>\n<div class=\"scroll picture\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"Timeline of one step on {0}\">{2}</div>\n"
        "<details><summary>The timeline of {0} as a table</summary>\n{3}</details>\n",
        title, escape_html(step_words(*step)), timeline_picture(*step, *run, view),
        html_table(timeline_table(*step, *run), "Stretches of the step on " + name));
  }
  return html;
}

std::string loss_table_of(const std::vector<NamedRun>& runs) {
  std::map<std::int64_t, std::vector<std::optional<double>>> by_step;
  std::vector<TextTable::Column> columns = {{"step"}};
  std::size_t column = 0;
  for (const auto& [name, run, is_row] : runs) {
    if (run == nullptr || run->losses.empty()) continue;
    columns.push_back({name});
    for (const auto& loss : run->losses) {
      auto& cells = by_step[loss.step];
      cells.resize(column + 1);
      cells[column] = loss.loss;
    }
    ++column;
  }
  if (by_step.empty()) return {};
  TextTable table(std::move(columns));
  for (auto& [step, losses] : by_step) {
    losses.resize(column);
    std::vector<std::string> cells = {fmt::format("{}", step)};
    for (const auto& loss : losses) cells.push_back(loss ? number(loss, 4) : "");
    table.add_row(std::move(cells));
  }
  return html_table(table, "Logged training losses");
}

}  // namespace tandem
