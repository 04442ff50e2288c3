#include "report/link_fit.h"

#include <algorithm>

namespace tandem {
namespace {

constexpr double kSmallestSpan = 4.0;

double moved_per_byte(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

}  // namespace

std::optional<LinkFit> fit_link(const std::vector<AllReduceTime>& times, int ranks) {
  if (ranks < 2 || times.empty()) return std::nullopt;
  const auto [smallest, largest] =
      std::minmax_element(times.begin(), times.end(),
                          [](const AllReduceTime& a, const AllReduceTime& b) { return a.bytes < b.bytes; });
  if (largest->bytes < kSmallestSpan * std::max(smallest->bytes, 1.0)) return std::nullopt;

  const auto count = static_cast<double>(times.size());
  double mean_bytes = 0.0, mean_ms = 0.0;
  for (const auto& time : times) {
    mean_bytes += time.bytes / count;
    mean_ms += time.wire_ms / count;
  }
  double bytes_variance = 0.0, covariance = 0.0, ms_variance = 0.0;
  for (const auto& time : times) {
    bytes_variance += (time.bytes - mean_bytes) * (time.bytes - mean_bytes);
    covariance += (time.bytes - mean_bytes) * (time.wire_ms - mean_ms);
    ms_variance += (time.wire_ms - mean_ms) * (time.wire_ms - mean_ms);
  }
  const double ms_per_byte = covariance / bytes_variance;
  const double latency_ms = mean_ms - ms_per_byte * mean_bytes;
  if (ms_per_byte <= 0.0 || latency_ms < 0.0) return std::nullopt;
  return LinkFit{.latency_ms = latency_ms,
                 .bus_gb_per_s = moved_per_byte(ranks) / ms_per_byte * 1e-6,
                 .r_squared = covariance * covariance / (bytes_variance * ms_variance)};
}

double fitted_bus_gb_per_s(const LinkFit& fit, double bytes, int ranks) {
  const double moved = bytes * moved_per_byte(ranks);
  const double ms = fit.latency_ms + moved / fit.bus_gb_per_s * 1e-6;
  return moved / ms * 1e-6;
}

}  // namespace tandem
