#include "report/paired_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/error.h"

namespace tandem {
namespace {

std::vector<double> log_ratios(std::span<const std::optional<double>> a,
                               std::span<const std::optional<double>> b) {
  std::vector<double> differences;
  for (std::size_t r = 0; r < std::min(a.size(), b.size()); ++r) {
    if (!a[r] || !b[r]) continue;
    TANDEM_EXPECT(*a[r] > 0.0 && *b[r] > 0.0, "the ratio of {} and {} has no logarithm", *a[r], *b[r]);
    differences.push_back(std::log(*a[r] / *b[r]));
  }
  return differences;
}

double standard_deviation(std::span<const double> values, double mean) {
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

double student_probability(double t, int freedom) {
  TANDEM_EXPECT(t >= 0.0 && freedom >= 1, "t = {} with {} degrees of freedom", t, freedom);
  const double angle = std::atan(t / std::sqrt(freedom));
  const double square = std::cos(angle) * std::cos(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? std::cos(angle) : 1.0;
  double sum = 0.0;
  for (int k = odd ? 3 : 2; k <= freedom; k += 2) {
    sum += term;
    term *= square * (k - 1) / k;
  }
  if (!odd) return std::sin(angle) * sum;
  return 2.0 / std::numbers::pi * (angle + std::sin(angle) * sum);
}

double student_quantile(double probability, int freedom) {
  TANDEM_EXPECT(probability > 0.0 && probability < 1.0, "no quantile of {}", probability);
  double below = 0.0;
  double above = 1.0;
  while (student_probability(above, freedom) < probability) above *= 2.0;
  constexpr int kHalvings = 200;  // until neighbouring numbers; one degree of freedom begins far out
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::midpoint(below, above);
    (student_probability(middle, freedom) < probability ? below : above) = middle;
  }
  return above;
}

std::optional<PairedDifference> paired_difference(std::span<const std::optional<double>> a,
                                                  std::span<const std::optional<double>> b, int comparisons) {
  TANDEM_EXPECT(comparisons >= 1, "{} comparisons", comparisons);
  const auto differences = log_ratios(a, b);
  if (differences.size() < 2) return std::nullopt;
  const auto pairs = static_cast<int>(differences.size());
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / pairs;
  const double error = standard_deviation(differences, mean) / std::sqrt(pairs);
  const double reach = student_quantile(1.0 - (1.0 - kConfidence) / comparisons, pairs - 1) * error;
  const double t = error > 0.0   ? std::abs(mean) / error
                   : mean == 0.0 ? 0.0
                                 : std::numeric_limits<double>::max();
  return PairedDifference{.pairs = pairs,
                          .ratio = std::exp(mean),
                          .low = std::exp(mean - reach),
                          .high = std::exp(mean + reach),
                          .p = 1.0 - student_probability(t, pairs - 1)};
}

}  // namespace tandem
