#include "page/scaling_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/assets.h"
#include "page/html_text.h"
#include "page/page_frame.h"
#include "page/page_template.h"
#include "report/table_text.h"

namespace tandem {
namespace {

// Of the rows with the most ranks, the best.
const ScalingRow& largest_of(const ScalingResult& result) {
  return *std::ranges::max_element(
      result.rows, {}, [](const ScalingRow& row) { return std::pair(row.ranks, row.ratio.median); });
}

std::vector<Tile> tiles_of(const ScalingResult& result) {
  const auto& row = largest_of(result);
  const auto range = row.repeats > 1 ? fmt::format("; {}", spread(row.ratio, 2, true)) : std::string();
  const auto rate = row.items_per_s.median;
  return {
      {fmt::format("{} on {} ranks", name_of(result.kind), row.ranks), number(row.ratio.median, 2),
       fmt::format("ideal: {}{}", number(ideal_ratio(result, row.ranks), 2), range)},
      {"throughput there", fmt::format("{} {}/s", number(rate, decimals_for(rate)), result.item), row.label},
      {"exposed communication there",
       row.exposed_share ? percent(row.exposed_share->median) + " %" : kNoValue,
       with_caveats(row.transport_found, row.caveats)}};
}

}  // namespace

std::string scaling_page(const ScalingResult& result) {
  const auto title =
      fmt::format("{}: {} to {} ranks", result.model.name, result.base_ranks, largest_of(result).ranks);
  PageValues values;
  values["kind"] = "Scaling";
  values["title"] = escape_html(title);
  values["lead"] = escape_html(
      fmt::format("{} parameters; {}", with_thousands(result.model.parameters),
                  result.kind == ScalingKind::Weak ? "the same batch per rank" : "the same global batch"));
  values["tiles"] = html_tiles(tiles_of(result));
  values["ratio"] = escape_html(name_of(result.kind));
  values["words"] =
      escape_html(fmt::format("{}. The dashed line is what ranks would give if communication cost nothing.",
                              ratio_definition(result)));
  values["table"] = html_table(scaling_table(result), "Medians over repeats; ranges are the widest possible");
  return framed_page(title, fill_template(assets::scaling, values), PageData::of(result));
}

}  // namespace tandem
