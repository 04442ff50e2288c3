// What a layer sees while it runs.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor_view.h"
#include "device/buffer.h"
#include "device/stream.h"
#include "layers/flow.h"
#include "layers/plan.h"
#include "ops/addends.h"
#include "ops/step_state.h"
#include "params/gradient_sink.h"
#include "params/parameter_store.h"

namespace tandem {

// Told where the forward pass of a block runs again within the backward pass, to stamp it. Only enqueues.
class RecomputeObserver {
 public:
  virtual ~RecomputeObserver() = default;
  virtual void recompute_begin(Stream& compute) = 0;
  virtual void recompute_end(Stream& compute) = 0;
};

// Owned by the trainer; used by the one thread that enqueues. Gives views of planned tensors and checks that
// layers ask for them as planned, op by op (in any order within an op): a layer whose execution departs from
// its plan would read memory that the planner has given to another tensor, so it throws Error naming both.
class Context {
 public:
  // All arguments outlive the context. `arena` is at least plan.arena_bytes.
  Context(const Plan& plan, const Buffer& arena, ParameterStore& store, GradientSink& gradients,
          Stream& stream);

  // Before each pass over a batch.
  void begin(Mode mode, StepPointers step);
  void bind_external(TensorId tensor,
                     TensorView memory);  // memory of this pass; throws on a wrong shape or dtype
  void expect_finished() const;           // throws unless all planned ops of the mode have run

  void set_observer(RecomputeObserver* observer) { observer_ = observer; }  // null: nobody looks

  Mode mode() const { return mode_; }
  bool training() const { return mode_ == Mode::Train; }
  Stream& stream() { return stream_; }
  StepPointers step() const { return step_; }

  // An invalid id gives an empty view and is no use.
  TensorView read(TensorId tensor) { return use(tensor, Access::Read); }
  TensorView write(TensorId tensor) { return use(tensor, Access::Write); }
  TensorView update(TensorId tensor) { return use(tensor, Access::Update); }
  Addends read(Flow flow) {
    const auto first = read(flow.first);
    return {first, read(flow.second)};
  }

  TensorView weight(ParamId id) const { return store_.weight(id); }
  TensorView buffer(BufferId id) const { return store_.buffer(id); }

  GradTarget begin_gradient(ParamId id) { return gradients_.begin(id); }
  void end_gradient(ParamId id) { gradients_.end(id); }

  // Around each forward pass of Plan::recomputed, in its order.
  void begin_recompute() {
    if (observer_ != nullptr) observer_->recompute_begin(stream_);
  }
  void end_recompute() {
    if (observer_ != nullptr) observer_->recompute_end(stream_);
  }

 private:
  TensorView use(TensorId tensor, Access access);
  void enter_op(std::size_t op);
  [[noreturn]] void fail(TensorId tensor, Access access) const;

  const Plan& plan_;
  ParameterStore& store_;
  GradientSink& gradients_;
  Stream& stream_;
  RecomputeObserver* observer_ = nullptr;
  std::vector<TensorView> train_views_;  // by tensor; empty where the mode has none
  std::vector<TensorView> evaluate_views_;
  Mode mode_ = Mode::Train;
  StepPointers step_;
  std::size_t op_ = 0;      // the op that runs now
  std::vector<bool> seen_;  // which of its uses were made
  std::size_t seen_count_ = 0;
};

}  // namespace tandem
