#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/record_diff.h"
#include "report/table_text.h"

namespace tandem {
namespace {

std::string change_percent(const MovedQuantity& moved) {
  if (moved.a.median == 0.0) return kNoValue;
  return fmt::format("{:+.1f}", moved.change() / moved.a.median * 100.0);
}

std::string verdict(const MovedQuantity& moved) {
  const auto beyond = moved.beyond_noise();
  if (!beyond) return kNoValue;
  return *beyond ? "yes" : "no";
}

std::string present(const std::string& value) {
  return value.empty() ? "not there" : value;
}

std::string limits_line(const char* which, const std::vector<std::string>& limits) {
  return fmt::format(
      "- {}: {}\n", which,
      limits.empty() ? std::string("steps were not measured") : fmt::format("{}", fmt::join(limits, "; ")));
}

}  // namespace

TextTable changed_table(const RecordDiff& diff) {
  TextTable table({{"in", Align::Left}, {"what", Align::Left}, {"A", Align::Left}, {"B", Align::Left}});
  for (const auto& fact : diff.changed)
    table.add_row({fact.where, fact.what, present(fact.a), present(fact.b)});
  return table;
}

TextTable moved_table(const RecordDiff& diff) {
  TextTable table({{"quantity", Align::Left}, {"A"}, {"B"}, {"change %"}, {"noise"}, {"beyond noise"}});
  for (const auto& moved : diff.moved) {
    const int decimals = decimals_for(std::max(std::abs(moved.a.median), std::abs(moved.b.median)));
    const auto noise = moved.noise();
    table.add_row({moved.quantity, spread(moved.a, decimals, moved.has_ranges),
                   spread(moved.b, decimals, moved.has_ranges), change_percent(moved),
                   noise ? fmt::format("{:.{}f}", *noise, decimals_for(*noise)) : kNoValue, verdict(moved)});
  }
  return table;
}

std::string moved_line(const RecordDiff& diff) {
  std::vector<std::string> beyond;
  for (const auto& moved : diff.moved)
    if (moved.beyond_noise().value_or(false))
      beyond.push_back(moved.a.median == 0.0
                           ? moved.quantity
                           : fmt::format("{} ({} %)", moved.quantity, change_percent(moved)));
  const auto judged =
      std::ranges::count_if(diff.moved, [](const MovedQuantity& moved) { return moved.noise().has_value(); });
  if (judged == 0) return "Nothing tells the noise of these quantities: there is one value of each.";
  if (beyond.empty()) return fmt::format("None of {} quantities moved beyond its noise.", judged);
  return fmt::format("{} of {} quantities moved beyond their noise: {}.", beyond.size(), judged,
                     fmt::join(beyond, ", "));
}

std::string diff_markdown(const RecordDiff& diff) {
  std::string text = fmt::format("# Difference\n\n- A: {}\n- B: {}\n\n## What changed\n\n", diff.a, diff.b);
  text += diff.changed.empty() ? "Nothing that the records know of.\n" : changed_table(diff).markdown();
  text += fmt::format("\n## What moved\n\n{}\n\n", moved_line(diff));
  if (!diff.moved.empty()) text += moved_table(diff).markdown() + '\n';
  text += "- with (min–max) over ten stretches of the steps, over epochs or over repeats\n";
  text += "- noise: half the sum of both ranges\n";
  if (!diff.limits_a.empty() || !diff.limits_b.empty())
    text += "\n## What limits them\n\n" + limits_line("A", diff.limits_a) + limits_line("B", diff.limits_b);
  return text;
}

}  // namespace tandem
