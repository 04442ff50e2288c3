// The bookkeeping around a step on the CPU.
#include <algorithm>
#include <memory>

#include "core/error.h"
#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"

namespace tandem {
namespace {

void count_step(TrainingState& training) {
  if (training.finite != 0) {
    ++training.applied_steps;
    ++training.steps_since_skip;
  } else {
    ++training.skipped_steps;
    training.steps_since_skip = 0;
  }
}

// REQUIRES count_step() before.
void move_loss_scale(TrainingState& training) {
  if (training.finite == 0) {
    training.loss_scale = std::max(training.loss_scale / 2.0f, kSmallestLossScale);
  } else if (training.steps_since_skip == kStepsUntilLossScaleDoubles) {
    training.loss_scale = std::min(training.loss_scale * 2.0f, kLargestLossScale);
    training.steps_since_skip = 0;
  }
}

class CpuStepBookkeeping final : public StepBookkeeping {
 public:
  explicit CpuStepBookkeeping(bool dynamic_loss_scale) : dynamic_loss_scale_(dynamic_loss_scale) {}

  void begin(Stream& stream, StepPointers pointers) override {
    TANDEM_EXPECT(pointers.results != nullptr, "step_bookkeeping: begin clears results: it is null");
    as_cpu(stream).enqueue([pointers] { *pointers.results = StepResults{}; });
  }

  void end(Stream& stream, StepPointers pointers) override {
    TANDEM_EXPECT(pointers.training != nullptr && pointers.results != nullptr,
                  "step_bookkeeping: end moves training and writes results: one is null");
    as_cpu(stream).enqueue([pointers, dynamic = dynamic_loss_scale_] {
      TrainingState& training = *pointers.training;
      StepResults& results = *pointers.results;
      count_step(training);
      if (dynamic) move_loss_scale(training);
      results.gradient_norm = training.gradient_norm;
      results.loss_scale = training.loss_scale;
      results.finite = training.finite;
      results.skipped_steps = training.skipped_steps;
    });
  }

 private:
  bool dynamic_loss_scale_;
};

}  // namespace

std::unique_ptr<StepBookkeeping> make_cpu_step_bookkeeping(bool dynamic_loss_scale) {
  return std::make_unique<CpuStepBookkeeping>(dynamic_loss_scale);
}

}  // namespace tandem
