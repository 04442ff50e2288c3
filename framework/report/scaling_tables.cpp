#include <fmt/format.h>

#include "report/scaling.h"
#include "report/table_text.h"

namespace tandem {
namespace {

std::string ranks_text(int ranks) {
  return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

}  // namespace

const char* name_of(ScalingKind kind) {
  return kind == ScalingKind::Weak ? "weak efficiency" : "strong speedup";
}

std::string ratio_definition(const ScalingResult& result) {
  const auto rate = result.item + (result.kind == ScalingKind::Weak ? "/s per rank" : "/s");
  return fmt::format("{0} = {1} / {1} of {2}", name_of(result.kind), rate, ranks_text(result.base_ranks));
}

double ideal_ratio(const ScalingResult& result, int ranks) {
  return result.kind == ScalingKind::Weak ? 1.0 : static_cast<double>(ranks) / result.base_ranks;
}

TextTable scaling_table(const ScalingResult& result) {
  TextTable table({{"ranks"},
                   {"link", Align::Left},
                   {"transport found", Align::Left},
                   {"global batch"},
                   {result.item + "/s"},
                   {result.item + "/s per rank"},
                   {"communication share, exposed %"},
                   {fmt::format("{} over {}", name_of(result.kind), ranks_text(result.base_ranks))}});
  for (const auto& row : result.rows) {
    const double rate = row.items_per_s.median;
    const double per_rank = rate / row.ranks;
    table.add_row({fmt::format("{}", row.ranks), row.label, with_caveats(row.transport_found, row.caveats),
                   with_thousands(row.global_batch), number(rate, decimals_for(rate)),
                   number(per_rank, decimals_for(per_rank)),
                   percent(row.exposed_share ? std::optional(row.exposed_share->median) : std::nullopt),
                   spread(row.ratio, 2, row.repeats > 1)});
  }
  return table;
}

TextTable scaling_csv_table(const ScalingResult& result) {
  const std::string ratio = result.kind == ScalingKind::Weak ? "weak_efficiency" : "strong_speedup";
  std::vector<TextTable::Column> columns{{"ranks"},   {"link"},       {"transport_found"}, {"caveats"},
                                         {"repeats"}, {"base_ranks"}, {"global_batch"}};
  for (const auto& name : {result.item + "_per_s", ratio})
    for (const char* part : {"median", "min", "max"}) columns.push_back({fmt::format("{}_{}", name, part)});
  TextTable table(std::move(columns));
  for (const auto& row : result.rows) {
    std::vector<std::string> cells{fmt::format("{}", row.ranks),
                                   row.label,
                                   row.transport_found,
                                   fmt::format("{}", fmt::join(row.caveats, "; ")),
                                   fmt::format("{}", row.repeats),
                                   fmt::format("{}", result.base_ranks),
                                   fmt::format("{}", row.global_batch)};
    for (const auto& value : {row.items_per_s, row.ratio})
      for (const double part : {value.median, value.min, value.max})
        cells.push_back(fmt::format("{:.9g}", part));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string scaling_markdown(const ScalingResult& result) {
  std::string text = scaling_table(result).markdown() + '\n';
  text += fmt::format("- {}, {} parameters\n", result.model.name, with_thousands(result.model.parameters));
  const bool weak = result.kind == ScalingKind::Weak;
  text +=
      fmt::format("- the same {}: {}\n", weak ? "batch per rank" : "global batch", ratio_definition(result));
  text += "- medians of repeats; a range is the widest that the repeats of row and base allow\n";
  return text;
}

}  // namespace tandem
