#include "report/table_text.h"

#include <fmt/format.h>

#include <cmath>

#include "report/text_table.h"

namespace tandem {

std::string number(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : kNoValue;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}", *share * 100.0) : kNoValue;
}

std::string spread(const std::optional<Spread>& value, int decimals, bool with_range) {
  if (!value) return kNoValue;
  const auto text = [&](double x) { return fmt::format("{:.{}f}", x, decimals); };
  if (!with_range) return text(value->median);
  return fmt::format("{} ({}–{})", text(value->median), text(value->min), text(value->max));
}

int decimals_for(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= 100.0) return 0;
  if (magnitude >= 10.0) return 1;
  return magnitude >= 1.0 ? 2 : 3;
}

std::string with_caveats(const std::string& transport, const std::vector<std::string>& caveats) {
  return caveats.empty() ? transport : fmt::format("{}, {}", transport, fmt::join(caveats, ", "));
}

std::string batch_line(const BatchRecord& batch, int world_size) {
  return fmt::format("global batch {} = {} per rank x {} ranks x {} accumulated", batch.global, batch.micro,
                     world_size, batch.accumulation);
}

std::string hosts_line(const std::vector<HostRecord>& hosts) {
  std::vector<std::string> parts;
  for (const auto& host : hosts)
    parts.push_back(
        fmt::format("{} ({}, {} cores, {} ranks)", host.name, host.processor, host.cores, host.ranks));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string reduction_line(const ReductionRecord& reduction) {
  return fmt::format("grouping {}, schedule {}, update {}", reduction.grouping, reduction.schedule,
                     reduction.update_order);
}

std::string recompute_line(const std::vector<std::string>& recomputed) {
  if (recomputed.empty()) return {};
  if (recomputed.size() == 1) return recomputed.front() + " runs forward again within backward";
  return fmt::format("{} blocks, {} to {}, run forward again within backward", recomputed.size(),
                     recomputed.front(), recomputed.back());
}

std::string accuracy_text(std::int64_t correct, std::int64_t total) {
  if (total == 0) return "nothing was evaluated";
  return fmt::format("{} of {} = {:.2f} %", with_thousands(correct), with_thousands(total),
                     100.0 * static_cast<double>(correct) / static_cast<double>(total));
}

std::string bandwidth_warning(std::string_view row, const std::optional<double>& in_training,
                              const std::optional<double>& standalone) {
  constexpr double kMeasuringError = 1.05;
  if (!in_training || !standalone || *in_training <= *standalone * kMeasuringError) return {};
  return fmt::format(
      "**Warning:** {}: the bus bandwidth in training, {:.3f} GB/s, exceeds the {:.3f} GB/s of the same link "
      "alone: the machine was busy while the link was measured, or bytes or time are counted wrongly.\n",
      row, *in_training, *standalone);
}

}  // namespace tandem
