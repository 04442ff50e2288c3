#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sweep_result.h"
#include "report/table_text.h"

namespace tandem {
namespace {

const SweepPoint& best_of(const SweepResult& result) {
  return result.points[static_cast<std::size_t>(*result.best)];
}

bool is_best(const SweepResult& result, const SweepPoint& point) {
  return result.best && &point == &best_of(result);
}

// An interval that reaches over decades says no more than that nothing is known.
std::string ratio_text(const PairedDifference& difference) {
  constexpr double kTooWide = 10.0;
  if (difference.high / difference.low > kTooWide)
    return fmt::format("{:.3f} (from {} pairs: any)", difference.ratio, difference.pairs);
  return fmt::format("{:.3f} ({:.3f}–{:.3f})", difference.ratio, difference.low, difference.high);
}

std::string verdict(const SweepResult& result, const SweepPoint& point) {
  if (!point.failure.empty()) return "failed: " + point.failure;
  if (point.repeats == 0) return "not run";
  if (is_best(result, point)) return "best";
  if (!point.to_best) return "too few repeats to tell";
  return point.to_best->high < 1.0 ? "slower" : "as good, within the noise";
}

std::string cell(const std::optional<double>& value, double factor = 1.0) {
  return value ? fmt::format("{:.9g}", *value * factor) : "";
}

std::optional<double> median(const std::optional<Spread>& value) {
  return value ? std::optional(value->median) : std::nullopt;
}

// One bar per point from 0, so that lengths are proportional to throughput; the range of its repeats is the
// lighter end of the bar.
std::string bar(const Spread& rate, double longest) {
  constexpr double kColumns = 50.0;
  const auto column = [longest](double value) {
    return static_cast<int>(std::lround(value / longest * kColumns));
  };
  std::string text;
  for (int c = 0; c < column(rate.max) || c < 1; ++c) {
    const bool in_range = rate.max > rate.min && c >= column(rate.min);
    text += in_range ? "░" : "█";
  }
  return text;
}

std::string chart(const SweepResult& result) {
  std::size_t width = 0;
  double longest = 0.0;
  for (const auto& point : result.points) {
    width = std::max(width, point_label(result.keys, point.values).size());
    if (point.items_per_s) longest = std::max(longest, point.items_per_s->max);
  }
  if (longest <= 0.0) return {};
  std::string text = fmt::format("{}/s; a bar ends in the range of its repeats (░)\n\n```\n", result.item);
  for (const auto& point : result.points) {
    text += fmt::format("{:<{}} ", point_label(result.keys, point.values), width);
    text += point.items_per_s
                ? fmt::format("{} {:.{}f}", bar(*point.items_per_s, longest), point.items_per_s->median,
                              decimals_for(point.items_per_s->median))
                : verdict(result, point);
    text += is_best(result, point) ? "  best\n" : "\n";
  }
  return text + "```\n";
}

}  // namespace

std::string sweep_conclusion(const SweepResult& result) {
  const auto& best = best_of(result);
  const auto name = point_label(result.keys, best.values);
  const auto& rate = *best.items_per_s;
  std::string text = fmt::format("Best: **{}** with {} {}/s.", name,
                                 spread(rate, decimals_for(rate.median), best.repeats > 1), result.item);
  std::vector<std::string> as_good;
  std::vector<std::string> untold;
  bool others = false;
  for (const auto& point : result.points) {
    if (is_best(result, point) || point.repeats == 0) continue;
    others = true;
    const auto label = point_label(result.keys, point.values);
    if (!point.to_best) {
      untold.push_back(label);
    } else if (point.to_best->high >= 1.0) {
      as_good.push_back(label);
    }
  }
  if (!others) return text + " It is the only point that has run.\n";
  if (!untold.empty())
    text += fmt::format(
        " Too few repeats to say whether it is better than {}: noise shows from two on, and "
        "five tell much more.",
        fmt::join(untold, "; "));
  if (!as_good.empty())
    text += fmt::format(" It is **not better beyond the noise** than {}.", fmt::join(as_good, "; "));
  if (untold.empty() && as_good.empty()) text += " It is better than every other point beyond the noise.";
  return text + '\n';
}

TextTable sweep_table(const SweepResult& result) {
  std::vector<TextTable::Column> columns;
  for (const auto& key : result.keys) columns.push_back({key});
  for (const auto* header : {"/s", "step ms", "exposed %", "overlap ratio", "throughput / best's", ""})
    columns.push_back({header});
  columns[result.keys.size()].header = result.item + "/s";
  columns.back() = {"verdict", Align::Left};

  TextTable table(std::move(columns));
  for (const auto& point : result.points) {
    auto cells = point.values;
    const bool range = point.repeats > 1;
    const auto digits = [](const std::optional<Spread>& value) {
      return value ? decimals_for(value->median) : 0;
    };
    cells.push_back(spread(point.items_per_s, digits(point.items_per_s), range));
    cells.push_back(spread(point.step_ms, digits(point.step_ms), range));
    cells.push_back(percent(median(point.exposed_share)));
    cells.push_back(number(median(point.overlap_ratio), 2));
    cells.push_back(point.to_best ? ratio_text(*point.to_best) : is_best(result, point) ? "1" : kNoValue);
    cells.push_back(verdict(result, point));
    table.add_row(std::move(cells));
  }
  return table;
}

TextTable sweep_csv_table(const SweepResult& result) {
  std::vector<TextTable::Column> columns;
  for (const auto& key : result.keys) columns.push_back({key});
  columns.push_back({"repeats"});
  const std::string rate = result.item + "_per_s";
  for (const std::string& name : {rate, std::string("step_ms")})
    for (const char* part : {"median", "min", "max"}) columns.push_back({fmt::format("{}_{}", name, part)});
  for (const auto* name : {"communication_share_exposed", "overlap_ratio", "to_best_ratio", "to_best_low",
                           "to_best_high", "to_best_p", "transport_found", "caveats", "verdict"})
    columns.push_back({name});

  TextTable table(std::move(columns));
  for (const auto& point : result.points) {
    auto cells = point.values;
    cells.push_back(fmt::format("{}", point.repeats));
    for (const auto& value : {point.items_per_s, point.step_ms}) {
      cells.push_back(value ? cell(value->median) : "");
      cells.push_back(value ? cell(value->min) : "");
      cells.push_back(value ? cell(value->max) : "");
    }
    cells.push_back(cell(median(point.exposed_share)));
    cells.push_back(cell(median(point.overlap_ratio)));
    const auto& to_best = point.to_best;
    cells.push_back(to_best ? cell(to_best->ratio) : "");
    cells.push_back(to_best ? cell(to_best->low) : "");
    cells.push_back(to_best ? cell(to_best->high) : "");
    cells.push_back(to_best ? cell(to_best->p) : "");
    cells.push_back(point.transport_found);
    cells.push_back(fmt::format("{}", fmt::join(point.caveats, "; ")));
    cells.push_back(verdict(result, point));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string sweep_markdown(const SweepResult& result) {
  std::string text = sweep_table(result).markdown() + '\n';
  if (const auto bars = chart(result); !bars.empty()) text += bars + '\n';
  if (result.best) text += sweep_conclusion(result) + '\n';
  text += fmt::format("- {}, {} ranks; {}\n", result.model, result.world_size, hosts_line(result.hosts));
  const auto finished = std::ranges::count_if(
      result.points, [&](const SweepPoint& point) { return point.repeats == result.planned_repeats; });
  text += fmt::format("- {} of {} points have all of their {} repeats", finished, result.points.size(),
                      result.planned_repeats);
  text += result.planned_repeats > 1 ? "; medians, with (min–max)\n" : "\n";
  text += "- throughput: items per step / mean step time of the slowest rank, after warm-up\n";
  text +=
      "- throughput / best's: from the rounds that ran both, with the interval that holds for all points "
      "at once in 95 % of sweeps;\n  a point is slower when the interval ends below 1\n";
  return text;
}

}  // namespace tandem
