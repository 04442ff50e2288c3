#include <fmt/format.h>

#include <algorithm>

#include "report/table_text.h"
#include "report/tables.h"

namespace tandem {
namespace {

std::string exact(double value) {
  return fmt::format("{:.9g}", value);
}

void append_spread(std::vector<std::string>& cells, const std::optional<Spread>& value) {
  if (!value) {
    cells.insert(cells.end(), 3, "");
    return;
  }
  for (const double part : {value->median, value->min, value->max}) cells.push_back(exact(part));
}

bool several_machines(const CompareResult& result) {
  return std::ranges::any_of(result.rows, [](const CompareRow& row) { return !row.machine.empty(); });
}

bool any_pairs(const CompareResult& result) {
  return std::ranges::any_of(result.rows,
                             [](const CompareRow& row) { return row.paired_speedup.has_value(); });
}

// "1.56 (1.41–1.72)", and whether that is more than noise.
std::string paired_text(const std::optional<PairedDifference>& difference) {
  constexpr double kTooWide = 10.0;  // an interval over decades says no more than that nothing is known
  if (!difference) return kNoValue;
  if (difference->high / difference->low > kTooWide)
    return fmt::format("{:.2f} (any), noise", difference->ratio);
  return fmt::format("{:.2f} ({:.2f}–{:.2f}){}", difference->ratio, difference->low, difference->high,
                     difference->beyond_noise() ? "" : ", noise");
}

std::string clocks_line(const std::map<std::string, Spread>& clocks) {
  std::vector<std::string> parts;
  for (const auto& [device, mhz] : clocks)
    parts.push_back(fmt::format("{} {} MHz", device, spread(mhz, 0, mhz.min < mhz.max)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool any_standalone(const CompareResult& result) {
  return std::any_of(result.rows.begin(), result.rows.end(),
                     [](const CompareRow& row) { return row.bus_gb_per_s_standalone.has_value(); });
}

bool any_control(const CompareResult& result) {
  return std::ranges::any_of(result.rows, [](const CompareRow& row) { return row.control.has_value(); });
}

std::optional<Spread> contention_ms(const CompareRow& row) {
  return row.control ? std::optional(row.control->contention_ms) : std::nullopt;
}

// Enough digits for the smallest of a column, so that all rows of it have the same.
int column_decimals(const CompareResult& result, std::optional<Spread> CompareRow::*column) {
  int decimals = 0;
  for (const auto& row : result.rows)
    if (row.*column) decimals = std::max(decimals, decimals_for((row.*column)->median));
  return decimals;
}

std::optional<double> median(const std::optional<Spread>& value) {
  return value ? std::optional(value->median) : std::nullopt;
}

std::string control_markdown(const CompareResult& result) {
  return fmt::format(
      "- contention = T_on - T_off - exposed, from the control runs after training, with and without the "
      "all-reduce call\n\n{}",
      control_table(result).markdown());
}

}  // namespace

TextTable compare_table(const CompareResult& result) {
  std::vector<TextTable::Column> columns = {{"link", Align::Left},
                                            {"link asked", Align::Left},
                                            {"transport found", Align::Left},
                                            {"epoch time s"},
                                            {result.batch.item + "/s"},
                                            {"communication share, exposed %"},
                                            {"communication share, busy %"},
                                            {"overlap ratio"},
                                            {"MB per step"},
                                            {"bus bandwidth in training GB/s"}};
  const bool standalone = any_standalone(result);
  if (standalone) columns.push_back({"bus bandwidth alone GB/s"});
  const bool control = any_control(result);
  if (control) columns.push_back({"contention ms"});
  columns.push_back({fmt::format("speedup over {}", result.slowest)});
  const bool pairs = any_pairs(result);
  if (pairs) columns.push_back({"paired speedup"});
  const bool machines = several_machines(result);
  if (machines) columns.insert(columns.begin() + 1, {"machine", Align::Left});

  TextTable table(std::move(columns));
  const int bandwidth_decimals = std::max(column_decimals(result, &CompareRow::bus_gb_per_s_in_training),
                                          column_decimals(result, &CompareRow::bus_gb_per_s_standalone));
  for (const auto& row : result.rows) {
    const bool range = row.repeats > 1;
    std::vector<std::string> cells = {
        row.label,
        row.asked,
        with_caveats(row.transport_found, row.caveats),
        spread(row.epoch_s, 2, range),
        number(median(row.items_per_s), column_decimals(result, &CompareRow::items_per_s)),
        percent(median(row.exposed_share)),
        percent(median(row.busy_share)),
        number(median(row.overlap_ratio), 2),
        number(static_cast<double>(row.bytes_per_step) * 1e-6, 3),
        number(median(row.bus_gb_per_s_in_training), bandwidth_decimals)};
    if (standalone) cells.push_back(number(median(row.bus_gb_per_s_standalone), bandwidth_decimals));
    if (control) cells.push_back(spread(contention_ms(row), 3, row.control && row.control->pairs > 1));
    cells.push_back(spread(row.speedup, 2, range));
    if (pairs) cells.push_back(paired_text(row.paired_speedup));
    if (machines) cells.insert(cells.begin() + 1, row.machine);
    table.add_row(std::move(cells));
  }
  return table;
}

TextTable control_table(const CompareResult& result) {
  TextTable table({{"link", Align::Left},
                   {"pairs"},
                   {"T_on ms"},
                   {"T_off ms"},
                   {"T_on - T_off ms"},
                   {"of it exposed ms"},
                   {"of it contention ms"},
                   {"contention shown", Align::Left}});
  if (!any_control(result)) return table;
  for (const auto& row : result.rows) {
    const auto& control = row.control;
    std::vector<std::string> cells = {row.label, control ? fmt::format("{}", control->pairs) : kNoValue};
    for (const auto part :
         {&ContentionSummary::step_on_ms, &ContentionSummary::step_off_ms, &ContentionSummary::comm_cost_ms,
          &ContentionSummary::exposed_ms, &ContentionSummary::contention_ms})
      cells.push_back(control ? spread((*control).*part, 3, control->pairs > 1) : kNoValue);
    cells.push_back(!control                        ? "no control run"
                    : control->contradicts_itself() ? "the control run contradicts itself"
                    : control->contention_shown()   ? "yes"
                                                    : "no: its range contains 0");
    table.add_row(std::move(cells));
  }
  return table;
}

TextTable compare_csv_table(const CompareResult& result) {
  std::vector<TextTable::Column> columns = {
      {"link"}, {"link_asked"}, {"transport_found"}, {"caveats"}, {"repeats"}};
  const std::vector<std::string> spreads = {"epoch_s",
                                            result.batch.item + "_per_s",
                                            "communication_share_exposed",
                                            "communication_share_busy",
                                            "overlap_ratio",
                                            "bus_gb_per_s_in_training",
                                            "bus_gb_per_s_standalone",
                                            "speedup_over_slowest"};
  for (const auto& name : spreads)
    for (const char* part : {"median", "min", "max"}) columns.push_back({fmt::format("{}_{}", name, part)});
  columns.push_back({"bytes_per_step"});
  for (const auto* name :
       {"paired_speedup_ratio", "paired_speedup_low", "paired_speedup_high", "paired_speedup_p",
        "paired_speedup_pairs", "machine", "contention_ms_median", "contention_ms_min", "contention_ms_max"})
    columns.push_back({name});

  TextTable table(std::move(columns));
  for (const auto& row : result.rows) {
    std::vector<std::string> cells = {row.label, row.asked, row.transport_found,
                                      fmt::format("{}", fmt::join(row.caveats, "; ")),
                                      fmt::format("{}", row.repeats)};
    append_spread(cells, row.epoch_s);
    append_spread(cells, row.items_per_s);
    append_spread(cells, row.exposed_share);
    append_spread(cells, row.busy_share);
    append_spread(cells, row.overlap_ratio);
    append_spread(cells, row.bus_gb_per_s_in_training);
    append_spread(cells, row.bus_gb_per_s_standalone);
    append_spread(cells, row.speedup);
    cells.push_back(fmt::format("{}", row.bytes_per_step));
    const auto& paired = row.paired_speedup;
    cells.push_back(paired ? exact(paired->ratio) : "");
    cells.push_back(paired ? exact(paired->low) : "");
    cells.push_back(paired ? exact(paired->high) : "");
    cells.push_back(paired ? exact(paired->p) : "");
    cells.push_back(paired ? fmt::format("{}", paired->pairs) : "");
    cells.push_back(row.machine);
    append_spread(cells, contention_ms(row));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string compare_markdown(const CompareResult& result) {
  std::string text = compare_table(result).markdown() + '\n';
  std::string warnings;
  for (const auto& row : result.rows)
    warnings += bandwidth_warning(row.label, median(row.bus_gb_per_s_in_training),
                                  median(row.bus_gb_per_s_standalone));
  if (!warnings.empty()) text += warnings + '\n';
  text += fmt::format("- {}, {} parameters, {} ranks; {}; {}\n", result.model.name,
                      with_thousands(result.model.parameters), result.world_size,
                      batch_line(result.batch, result.world_size), reduction_line(result.reduction));
  text += fmt::format("- {}\n", hosts_line(result.hosts));
  const auto [fewest, most] =
      std::minmax_element(result.rows.begin(), result.rows.end(),
                          [](const CompareRow& a, const CompareRow& b) { return a.repeats < b.repeats; });
  if (fewest != result.rows.end() && most->repeats > 1) {
    const auto count = fewest->repeats == most->repeats
                           ? fmt::format("{}", most->repeats)
                           : fmt::format("{} to {}", fewest->repeats, most->repeats);
    text += fmt::format("- medians of {} repeats, with (min–max)\n", count);
  }
  text += fmt::format("- speedup = epoch time of {} / epoch time of the row", result.slowest);
  text += "; its range is the widest that the repeats of both allow\n";
  if (any_pairs(result))
    text +=
        "- paired speedup: from the rounds that ran both, with the interval that holds for all rows at once "
        "in "
        "95 % of\n  comparisons; \"noise\" where it contains 1\n";
  if (!result.clocks_mhz.empty()) text += fmt::format("- clocks: {}\n", clocks_line(result.clocks_mhz));
  text += "- exposed: compute waits for communication; busy: the communication stream works, hidden or not\n";
  if (any_control(result)) text += control_markdown(result);
  std::string limits;
  for (const auto& row : result.rows)
    for (const auto& conclusion : row.conclusions)
      limits += fmt::format("- {}: **{}.** {}\n", row.label, headline_of(conclusion), conclusion.finding);
  if (!limits.empty()) text += "\nWhat limits each row:\n\n" + limits;
  if (const auto& run = result.accuracy)
    text += fmt::format("\nAccuracy, from a run of its own ({}, link {}, {} epochs): {}\n", run->run,
                        run->link, run->epochs, accuracy_text(run->correct, run->total));
  return text;
}

}  // namespace tandem
