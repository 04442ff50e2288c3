// The learning rate of each step: a pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem {

enum class Decay {
  Constant,
  Step,    // times `gamma` at each milestone
  Cosine,  // half a cosine from base to base * final_fraction over the steps after warm-up
  Linear,  // a line between the same two
};

struct LearningRateSpec {
  double base = 0.1;  // after any scaling by batch size
  Decay decay = Decay::Constant;
  std::int64_t warmup_steps = 0;  // rises linearly: step s of the warm-up has base * (s + 1) / warmup_steps
  std::int64_t total_steps = 0;   // of the run
  double final_fraction = 0.0;    // Cosine, Linear
  std::vector<std::int64_t> milestones;  // Step, ascending
  double gamma = 0.1;                    // Step
};

// The rate of step `step`, counted from 0.
double learning_rate_at(const LearningRateSpec& spec, std::int64_t step);

}  // namespace tandem
