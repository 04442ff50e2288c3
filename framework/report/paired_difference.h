// Whether two settings that were run in turn differ, and by how much: a paired comparison. Pure functions.
//
// Round r runs each setting once, so what slows a whole round (another program, a warmer processor) cancels
// in d_r = ln(a_r / b_r). With the mean m and the standard deviation s of n such differences,
//   m ± t(n - 1) s / sqrt(n)
// is an interval for ln(a / b) if the d_r scatter normally and rounds are independent (W. S. Gosset
// "Student", The Probable Error of a Mean, Biometrika 6, 1908; NIST/SEMATECH e-Handbook of Statistical
// Methods, 1.3.5.3). Logarithms make it symmetric: swapping a and b inverts the ratio and its ends.
// docs/measuring.md says the same to users.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct PairedDifference {
  int pairs = 0;
  double ratio = 1.0;  // a / b: exp of the mean difference
  double low = 1.0;    // ends of its interval
  double high = 1.0;
  double p = 1.0;  // two-sided: how often a difference as large would come of noise alone
  bool operator==(const PairedDifference&) const = default;

  // The interval leaves 1 out: the difference is larger than the noise.
  bool beyond_noise() const { return low > 1.0 || high < 1.0; }
};

inline constexpr double kConfidence = 0.95;

// Of values above 0 in the order of their rounds; a round that lacks either value is left out. None for fewer
// than two pairs: a single pair does not tell what noise is. `comparisons`, the number of differences that
// are looked at together, widens the interval so that all of them hold at once with kConfidence (Bonferroni).
std::optional<PairedDifference> paired_difference(std::span<const std::optional<double>> a,
                                                  std::span<const std::optional<double>> b,
                                                  int comparisons = 1);

// P(|T| <= t) of Student's distribution with `freedom` >= 1 degrees of freedom, t >= 0 (Abramowitz & Stegun,
// 26.7.3 and 26.7.4), and the t at which that probability is `probability`, in (0, 1).
double student_probability(double t, int freedom);
double student_quantile(double probability, int freedom);

}  // namespace tandem
