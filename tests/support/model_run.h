// A model that trains, without a trainer.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "models/model.h"
#include "ops/cpu/cpu_backend.h"
#include "support/planned_run.h"

namespace tandem {

class ModelRun {
 public:
  explicit ModelRun(Model model, const ParameterStoreOptions& options = {}) : model_(std::move(model)) {
    Planner plan(*backend_, DType::F32);
    model_.plan(plan);
    run_ = std::make_unique<PlannedRun>(plan.finish(), options);
    const auto& input = model_.input();
    batch_ = HostTensor(input.shape, input.dtype);
    targets_ = HostTensor({input.targets}, DType::I32);
    run_->context.bind_external(model_.batch(), batch_.view());
    run_->context.bind_external(model_.targets(), targets_.view());
    if (model_.positions().valid()) {
      positions_ = HostTensor({input.samples()}, DType::I64);
      run_->context.bind_external(model_.positions(), positions_.view());
    }
  }

  PlannedRun& run() { return *run_; }
  HostTensor& batch() { return batch_; }
  HostTensor& targets() { return targets_; }
  HostTensor& positions() { return positions_; }

  // The mean loss is over `valid` targets; all of them unless told. In training, gradients are in the store.
  StepResults pass(Mode mode, float valid = 0.0f) {
    inputs_.valid_targets = valid > 0.0f ? valid : static_cast<float>(model_.input().targets);
    results_ = {};
    run_->begin(mode, {&inputs_, &training_, &results_});
    run_->sink.begin_micro_batch(0, 1);
    model_.forward(run_->context);
    if (mode == Mode::Train) model_.backward(run_->context);
    run_->stream->synchronize();
    run_->context.expect_finished();
    return results_;
  }

  OpBackend& backend() { return *backend_; }
  StepInputs& inputs() { return inputs_; }
  TrainingState& training() { return training_; }
  StepPointers pointers() { return {&inputs_, &training_, &results_}; }

 private:
  std::unique_ptr<OpBackend> backend_ = make_cpu_backend();
  Model model_;
  std::unique_ptr<PlannedRun> run_;
  HostTensor batch_, targets_, positions_;
  StepInputs inputs_;
  TrainingState training_;
  StepResults results_;
};

}  // namespace tandem
