// AdamW on the CPU.
#include <cmath>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/update_segments.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CpuAdamW final : public OptimizerUpdate {
 public:
  explicit CpuAdamW(const AdamWSpec& spec) : spec_(spec) {}

  int states() const override { return 2; }

  void step(Stream& stream, const UpdateRange& range, StepPointers pointers) override {
    expect_range("adamw", range, states(), pointers);
    as_cpu(stream).enqueue([=, this] {
      if (pointers.training->finite == 0) return;
      const StepFactors factors = factors_of(pointers);
      for_each_piece(spec_.segments, range, [&](const UpdatePiece& piece) { update(range, piece, factors); });
    });
  }

 private:
  // What is the same for all elements of a step.
  struct StepFactors {
    float gradient_scale;
    float learning_rate;
    float corrected_rate;             // learning rate / c1
    float inverse_second_correction;  // 1 / sqrt(c2)
  };

  // The corrections in double: early on, 1 - beta2^t would lose most of its digits in fp32.
  StepFactors factors_of(const StepPointers& pointers) const {
    const TrainingState& training = *pointers.training;
    const auto t = static_cast<double>(training.applied_steps + 1);
    const double first_correction = 1.0 - std::pow(static_cast<double>(spec_.beta1), t);
    const double second_correction = 1.0 - std::pow(static_cast<double>(spec_.beta2), t);
    const float learning_rate = pointers.inputs->learning_rate;
    return {training.clip_factor / training.loss_scale, learning_rate,
            static_cast<float>(static_cast<double>(learning_rate) / first_correction),
            static_cast<float>(1.0 / std::sqrt(second_correction))};
  }

  // One pass over plain arrays: however a range is cut, an element goes through the same arithmetic.
  void update(const UpdateRange& range, const UpdatePiece& piece, const StepFactors& factors) const {
    float* weights = range.master.data<float>();
    const float* gradients = range.gradient.data<float>();
    float* first = range.state[0].data<float>();
    float* second = range.state[1].data<float>();
    const float beta1 = spec_.beta1;
    const float beta2 = spec_.beta2;
    const float epsilon = spec_.epsilon;
    const float kept = 1.0f - factors.learning_rate * piece.weight_decay;
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      const float gradient = gradients[i] * factors.gradient_scale;
      first[i] = beta1 * first[i] + (1.0f - beta1) * gradient;
      second[i] = beta2 * second[i] + (1.0f - beta2) * gradient * gradient;
      const float deviation = std::sqrt(second[i]) * factors.inverse_second_correction + epsilon;
      weights[i] = kept * weights[i] - factors.corrected_rate * first[i] / deviation;
    }
  }

  AdamWSpec spec_;
};

}  // namespace

std::unique_ptr<OptimizerUpdate> make_cpu_adamw(const AdamWSpec& spec) {
  expect_valid(spec);
  return std::make_unique<CpuAdamW>(spec);
}

}  // namespace tandem
