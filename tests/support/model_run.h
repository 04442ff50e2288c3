// A model that trains, without a trainer.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "models/model.h"
#include "support/planned_run.h"
#include "support/training_device.h"

namespace tandem {

class ModelRun {
 public:
  // The host can address the memory of `on`.
  explicit ModelRun(Model model, const ParameterStoreOptions& options = {}, TrainingDevice on = {})
      : device_(std::move(on.device)),
        backend_(std::move(on.ops)),
        model_(std::move(model)),
        step_memory_(device_->memory(), ByteCount(sizeof(StepMemory))),
        step_(new (step_memory_.data()) StepMemory) {
    Planner plan(*backend_, DType::F32);
    model_.plan(plan);
    run_ = std::make_unique<PlannedRun>(plan.finish(), options, device_);
    const auto& input = model_.input();
    auto& memory = device_->memory();
    batch_ = HostTensor(input.shape, input.dtype, memory);
    targets_ = HostTensor({input.targets}, DType::I32, memory);
    run_->context.bind_external(model_.batch(), batch_.view());
    run_->context.bind_external(model_.targets(), targets_.view());
    if (model_.positions().valid()) {
      positions_ = HostTensor({input.samples()}, DType::I64, memory);
      run_->context.bind_external(model_.positions(), positions_.view());
    }
  }

  PlannedRun& run() { return *run_; }
  HostTensor& batch() { return batch_; }
  HostTensor& targets() { return targets_; }
  HostTensor& positions() { return positions_; }

  // The mean loss is over `valid` targets; all of them unless told. In training, gradients are in the store.
  StepResults pass(Mode mode, float valid = 0.0f) {
    step_->inputs.valid_targets = valid > 0.0f ? valid : static_cast<float>(model_.input().targets);
    step_->results = {};
    run_->begin(mode, pointers());
    run_->sink.begin_micro_batch(0, 1);
    model_.forward(run_->context);
    if (mode == Mode::Train) model_.backward(run_->context);
    run_->stream->synchronize();
    run_->context.expect_finished();
    return step_->results;
  }

  OpBackend& backend() { return *backend_; }
  StepInputs& inputs() { return step_->inputs; }
  TrainingState& training() { return step_->training; }
  StepPointers pointers() { return {&step_->inputs, &step_->training, &step_->results}; }

 private:
  struct StepMemory {
    StepInputs inputs;
    TrainingState training;
    StepResults results;
  };

  std::shared_ptr<Device> device_;
  std::unique_ptr<OpBackend> backend_;
  Model model_;
  Buffer step_memory_;
  StepMemory* step_;
  std::unique_ptr<PlannedRun> run_;
  HostTensor batch_, targets_, positions_;
};

}  // namespace tandem
