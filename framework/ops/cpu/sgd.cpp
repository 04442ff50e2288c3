// SGD on the CPU.
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/update_segments.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CpuSgd final : public OptimizerUpdate {
 public:
  explicit CpuSgd(const SgdSpec& spec) : spec_(spec) {}

  int states() const override { return spec_.momentum > 0.0f ? 1 : 0; }

  void step(Stream& stream, const UpdateRange& range, StepPointers pointers) override {
    expect_range("sgd", range, states(), pointers);
    as_cpu(stream).enqueue([=, this] {
      const TrainingState& training = *pointers.training;
      if (training.finite == 0) return;
      const float gradient_scale = training.clip_factor / training.loss_scale;
      const float learning_rate = pointers.inputs->learning_rate;
      for_each_piece(spec_.segments, range,
                     [&](const UpdatePiece& piece) { update(range, piece, gradient_scale, learning_rate); });
    });
  }

 private:
  // One pass over plain arrays: however a range is cut, an element goes through the same arithmetic.
  void update(const UpdateRange& range, const UpdatePiece& piece, float gradient_scale,
              float learning_rate) const {
    float* weights = range.master.data<float>();
    const float* gradients = range.gradient.data<float>();
    if (states() == 0) {
      for (std::int64_t i = piece.begin; i < piece.end; ++i) {
        weights[i] -= learning_rate * (gradients[i] * gradient_scale + weights[i] * piece.weight_decay);
      }
      return;
    }
    float* velocity = range.state[0].data<float>();
    const float momentum = spec_.momentum;
    const float descent_share = spec_.nesterov ? 1.0f : 0.0f;
    const float velocity_share = spec_.nesterov ? momentum : 1.0f;
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      const float descent = gradients[i] * gradient_scale + weights[i] * piece.weight_decay;
      velocity[i] = momentum * velocity[i] + descent;
      weights[i] -= learning_rate * (descent_share * descent + velocity_share * velocity[i]);
    }
  }

  SgdSpec spec_;
};

}  // namespace

std::unique_ptr<OptimizerUpdate> make_cpu_sgd(const SgdSpec& spec) {
  expect_valid(spec);
  return std::make_unique<CpuSgd>(spec);
}

}  // namespace tandem
