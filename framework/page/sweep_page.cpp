#include "page/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/assets.h"
#include "page/html_text.h"
#include "page/page_frame.h"
#include "page/page_template.h"
#include "report/table_text.h"

namespace tandem {
namespace {

std::vector<Tile> tiles_of(const SweepResult& result) {
  const auto ran = std::ranges::count_if(result.points, [](const SweepPoint& p) { return p.repeats > 0; });
  std::vector<Tile> tiles;
  if (result.best) {
    const auto& best = result.points[static_cast<std::size_t>(*result.best)];
    tiles.push_back({"best point", point_label(result.keys, best.values), best.transport_found});
    if (const auto& rate = best.items_per_s) {
      const auto digits = decimals_for(rate->median);
      tiles.push_back({"its throughput", fmt::format("{} {}/s", number(rate->median, digits), result.item),
                       best.repeats > 1 ? fmt::format("{}–{} over {} repeats", number(rate->min, digits),
                                                      number(rate->max, digits), best.repeats)
                                        : "one run"});
    }
  }
  tiles.push_back(
      {"points that ran", fmt::format("{} of {}", ran, result.points.size()),
       fmt::format("{} repeat{} planned", result.planned_repeats, result.planned_repeats == 1 ? "" : "s")});
  return tiles;
}

}  // namespace

std::string sweep_page(const SweepResult& result) {
  const auto title = fmt::format("{}: sweep over {}", result.model, fmt::join(result.keys, " and "));
  PageValues values;
  values["kind"] = "Sweep";
  values["title"] = escape_html(title);
  values["lead"] = escape_html(fmt::format("{} ranks; {}", result.world_size, hosts_line(result.hosts)));
  values["tiles"] = html_tiles(tiles_of(result));
  auto words = result.best ? sweep_conclusion(result) : std::string("No point has run.");
  std::erase(words, '*');  // of Markdown
  values["conclusion"] = escape_html(words);
  values["table"] = html_table(sweep_table(result), "Medians over repeats, with (min–max)");
  return framed_page(title, fill_template(assets::sweep, values), PageData::of(result));
}

}  // namespace tandem
