#include "bench/bench_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "report/text_table.h"

namespace tandem {
namespace {

using Column = TextTable::Column;

std::string value(double number) {
  if (number >= 1000) return with_thousands(std::llround(number));
  const int decimals = number >= 100 ? 0 : number >= 10 ? 1 : number >= 1 ? 2 : 3;
  return fmt::format("{:.{}f}", number, decimals);
}

std::string spread(const Spread& s, int repeats) {
  return repeats > 1 ? fmt::format("{} ({}–{})", value(s.median), value(s.min), value(s.max))
                     : value(s.median);
}

std::string times(double factor) {
  return fmt::format("{:.2f}x", factor);
}

std::int64_t wrong_elements(const BenchLink& link) {
  std::int64_t wrong = 0;
  for (const auto& point : link.points) wrong += point.wrong;
  return wrong;
}

std::string links_table(const BenchResult& result) {
  TextTable table({Column{"link", Align::Left}, Column{"transport found", Align::Left},
                   Column{"all-reduce latency us"}, Column{"small all-reduces/s"},
                   Column{"aggregate bandwidth GB/s"}, Column{"wrong"}});
  for (const auto& link : result.links)
    table.add_row({link.label, link.transport, spread(link.latency_us, link.repeats),
                   spread(link.rate_per_s, link.repeats), value(link.aggregate_gb_per_s),
                   fmt::format("{}", wrong_elements(link))});
  return table.markdown();
}

// nccl-tests' columns, of its in-place half.
std::string points_table(const BenchLink& link) {
  TextTable table({Column{"collective", Align::Left}, Column{"size B"}, Column{"count"},
                   Column{"type", Align::Left}, Column{"redop", Align::Left}, Column{"time us"},
                   Column{"algbw GB/s"}, Column{"busbw GB/s"}, Column{"#wrong"}});
  constexpr std::int64_t kFloatBytes = 4;
  for (const auto& point : link.points)
    table.add_row(
        {point.collective, fmt::format("{}", point.bytes), fmt::format("{}", point.bytes / kFloatBytes),
         "float", point.collective == "all_gather" ? "none" : "sum", spread(point.time_us, link.repeats),
         value(point.algorithm_gb_per_s), value(point.bus_gb_per_s), fmt::format("{}", point.wrong)});
  return table.markdown();
}

std::string pairs_table(const BenchLink& link) {
  if (link.pairs.empty()) return "";
  TextTable table({Column{"from", Align::Left}, Column{"to", Align::Left}, Column{"latency us"},
                   Column{"GB/s"}, Column{"both ways GB/s"}, Column{"messages/s"}});
  for (const auto& pair : link.pairs)
    table.add_row({fmt::format("{}", pair.from), fmt::format("{}", pair.to), value(pair.latency_us),
                   value(pair.gb_per_s), value(pair.both_gb_per_s), value(pair.messages_per_s)});
  return "\nBetween two ranks:\n\n" + table.markdown();
}

std::string fits_table(const BenchLink& link) {
  if (link.fits.empty()) return "";
  TextTable table({Column{"collective", Align::Left}, Column{"latency us"}, Column{"bus bandwidth GB/s"},
                   Column{"worst error %"}});
  for (const auto& fit : link.fits)
    table.add_row({fit.collective, value(fit.latency_us), value(fit.bus_gb_per_s),
                   fmt::format("{:.0f}", fit.worst_error * 100)});
  return "\nLatency + bus bytes / bandwidth, fitted:\n\n" + table.markdown();
}

std::string gpu_pairs_table(const BenchResult& result) {
  if (result.gpu_pairs.empty()) return "";
  const auto rate = [](const std::optional<double>& gb_per_s) { return gb_per_s ? value(*gb_per_s) : "n/a"; };
  TextTable table({Column{"from", Align::Left}, Column{"to", Align::Left}, Column{"peer access", Align::Left},
                   Column{"data", Align::Left}, Column{"copy engine GB/s"}, Column{"both ways GB/s"},
                   Column{"kernel GB/s"}});
  for (const auto& pair : result.gpu_pairs)
    table.add_row({fmt::format("GPU{}", pair.from), fmt::format("GPU{}", pair.to), pair.access ? "yes" : "no",
                   pair.wrong.empty() ? "right" : pair.wrong, rate(pair.gb_per_s), rate(pair.both_gb_per_s),
                   rate(pair.sm_gb_per_s)});
  return "\n## Copies between GPUs\n\n" + table.markdown();
}

}  // namespace

std::string ratio_table(const BenchResult& result) {
  if (result.links.size() < 2) return "";
  const auto& first = result.links[0];
  const auto& second = result.links[1];
  TextTable table({Column{fmt::format("{} : {}", first.label, second.label), Align::Left},
                   Column{first.label}, Column{second.label}, Column{"ratio"}});
  table.add_row({"latency of a single all-reduce, us", value(first.latency_us.median),
                 value(second.latency_us.median), times(second.latency_us.median / first.latency_us.median)});
  table.add_row({"aggregate bandwidth, GB/s", value(first.aggregate_gb_per_s),
                 value(second.aggregate_gb_per_s),
                 times(first.aggregate_gb_per_s / second.aggregate_gb_per_s)});
  table.add_row({"small-packet rate, all-reduces/s", value(first.rate_per_s.median),
                 value(second.rate_per_s.median), times(first.rate_per_s.median / second.rate_per_s.median)});
  return table.markdown() + fmt::format("\nA ratio above 1 means that {} is the better.\n", first.label);
}

std::string bench_markdown(const BenchResult& result) {
  auto text = fmt::format("{} ranks on {}, {}; in place, fp32, results checked\n\n", result.ranks,
                          result.host, result.device) +
              links_table(result);
  if (const auto ratios = ratio_table(result); !ratios.empty()) text += '\n' + ratios;
  for (const auto& link : result.links)
    text += fmt::format("\n## {} ({}, {})\n\n", link.label, link.transport, link.description) +
            points_table(link) + pairs_table(link) + fits_table(link);
  return text + gpu_pairs_table(result);
}

std::string bench_csv(const BenchResult& result) {
  TextTable table({Column{"link"}, Column{"transport"}, Column{"collective"}, Column{"bytes"},
                   Column{"time_us"}, Column{"time_us_min"}, Column{"time_us_max"}, Column{"algbw_gb_per_s"},
                   Column{"busbw_gb_per_s"}, Column{"wrong"}});
  for (const auto& link : result.links)
    for (const auto& point : link.points)
      table.add_row({link.label, link.transport, point.collective, fmt::format("{}", point.bytes),
                     fmt::format("{}", point.time_us.median), fmt::format("{}", point.time_us.min),
                     fmt::format("{}", point.time_us.max), fmt::format("{}", point.algorithm_gb_per_s),
                     fmt::format("{}", point.bus_gb_per_s), fmt::format("{}", point.wrong)});
  return table.csv();
}

}  // namespace tandem
