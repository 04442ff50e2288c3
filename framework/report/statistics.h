// Statistics of samples: the ones that docs/measuring.md names, and no others. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

// Measured values in the order of measuring. An entry without a value was not recorded; it is never 0.
using Samples = std::vector<std::optional<double>>;

struct Statistics {
  std::size_t samples = 0;
  double mean = 0.0;
  double median = 0.0;
  double p95 = 0.0;
  double min = 0.0;
  double max = 0.0;
  bool operator==(const Statistics&) const = default;
};

// Over the recorded values; none if there is none. Between two ranks of the sorted samples, median and p95
// interpolate linearly (position q * (samples - 1), the default of NumPy and R).
std::optional<Statistics> statistics_of(const Samples& samples);
std::optional<Statistics> statistics_of(std::span<const double> values);

// A median with the range of its repeats.
struct Spread {
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
  bool operator==(const Spread&) const = default;
};

Spread spread_of(const Statistics& statistics);

// sum(parts) / sum(wholes) over the entries where both are recorded; none if there is none or the wholes add
// up to 0. This is how a share of the step is formed: long steps weigh more, as they do in the epoch.
class ShareSum {
 public:
  void add(const std::optional<double>& part, const std::optional<double>& whole);
  std::optional<double> value() const;

 private:
  double parts_ = 0.0;
  double wholes_ = 0.0;
};

}  // namespace tandem
