#include "report/statistics.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<Statistics> statistics_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return Statistics{.samples = sorted.size(),
                    .mean = sum / static_cast<double>(sorted.size()),
                    .median = quantile(sorted, 0.5),
                    .p95 = quantile(sorted, 0.95),
                    .min = sorted.front(),
                    .max = sorted.back()};
}

std::optional<Statistics> statistics_of(const Samples& samples) {
  std::vector<double> recorded;
  recorded.reserve(samples.size());
  for (const auto& sample : samples)
    if (sample) recorded.push_back(*sample);
  return statistics_of(std::span<const double>(recorded));
}

Spread spread_of(const Statistics& statistics) {
  return {.median = statistics.median, .min = statistics.min, .max = statistics.max};
}

void ShareSum::add(const std::optional<double>& part, const std::optional<double>& whole) {
  if (!part || !whole) return;
  parts_ += *part;
  wholes_ += *whole;
}

std::optional<double> ShareSum::value() const {
  if (wholes_ <= 0.0) return std::nullopt;
  return parts_ / wholes_;
}

}  // namespace tandem
