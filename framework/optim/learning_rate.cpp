#include "optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tandem {

double learning_rate_at(const LearningRateSpec& spec, std::int64_t step) {
  if (step < spec.warmup_steps) {
    return spec.base * static_cast<double>(step + 1) / static_cast<double>(spec.warmup_steps);
  }
  const auto span = std::max<std::int64_t>(1, spec.total_steps - spec.warmup_steps);
  const double progress =
      std::min(1.0, static_cast<double>(step - spec.warmup_steps) / static_cast<double>(span));
  const double last = spec.base * spec.final_fraction;
  switch (spec.decay) {
    case Decay::Constant:
      return spec.base;
    case Decay::Step: {
      const auto passed = std::ranges::upper_bound(spec.milestones, step) - spec.milestones.begin();
      return spec.base * std::pow(spec.gamma, static_cast<double>(passed));
    }
    case Decay::Cosine:
      return last + (spec.base - last) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    case Decay::Linear:
      return spec.base + (last - spec.base) * progress;
  }
  return spec.base;
}

}  // namespace tandem
