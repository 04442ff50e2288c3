// Gradient checks by central differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "core/rng.h"
#include "support/host_tensor.h"

namespace tandem {

// How to check d loss / d input for fp32 ops whose tensors hold values of order 1.
//
// The loss is the caller's: usually dot(output, projection) with a random projection, summed in double. Then
// its rounding error is that of the op's fp32 outputs, about 6e-8 * sqrt(elements); divided by 2 * step it is
// some 1e-4 of a gradient of order 1. The error of the difference itself is step^2 / 6 times the third
// derivative. Hence 1e-2 for the step, and a tolerance some ten times above both.
struct GradientCheck {
  float step = 1e-2f;
  double tolerance = 4e-3;
  int samples = 48;  // elements that are checked, chosen by `seed`; all where there are fewer
  std::uint32_t seed = 7;
};

// Fails unless `analytic` [input's shape] is the gradient of `loss` at `input`. `loss` evaluates the whole
// op from the tensors as they are; `input` is changed during the check and restored.
//
// Error of an element: |numeric - analytic| / max(|analytic|, root mean square of `analytic`); the mean keeps
// elements near zero from asking for more digits than fp32 has. A kink within the step (ReLU, a maximum)
// pulls the central difference by up to half of what the one-sided ones disagree, so that half is added to
// the tolerance. Elements where they disagree by more than 5 % show nothing and are passed over; the check
// fails if those are more than half.
inline void expect_gradient(const std::string& what, const HostTensor& input, const HostTensor& analytic,
                            const std::function<double()>& loss, const GradientCheck& check = {}) {
  ASSERT_EQ(input.shape().to_string(), analytic.shape().to_string()) << what;
  constexpr double kKink = 0.05;
  const std::int64_t elements = input.elements();
  const double scale = std::max(std::sqrt(dot(analytic, analytic) / static_cast<double>(elements)), 1e-6);
  const double at_point = loss();
  const std::int64_t samples = std::min<std::int64_t>(check.samples, elements);
  std::int64_t kinks = 0;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto random = philox(philox_key(check.seed, RandomUse::Synthetic), sample).word[0];
    const std::int64_t i =
        samples == elements ? sample : uniform_below(random, static_cast<std::uint32_t>(elements));
    const float value = input[i];
    input[i] = value + check.step;
    const double above = loss();
    const double step_up = static_cast<double>(input[i]) - value;
    input[i] = value - check.step;
    const double below = loss();
    const double step_down = static_cast<double>(value) - input[i];
    input[i] = value;

    const double numeric = (above - below) / (step_up + step_down);
    const double size = std::max(std::abs(static_cast<double>(analytic[i])), scale);
    const double bend = std::abs((above - at_point) / step_up - (at_point - below) / step_down) / size;
    if (bend > kKink) {
      ++kinks;
      continue;
    }
    const double error = std::abs(numeric - analytic[i]) / size;
    ASSERT_LE(error, check.tolerance + bend / 2)
        << what << ", element " << i << " of " << input.shape().to_string() << ": analytic " << analytic[i]
        << ", numeric " << numeric;
  }
  EXPECT_LE(kinks, samples / 2) << what << ": too many of the elements sit on kinks";
}

}  // namespace tandem
