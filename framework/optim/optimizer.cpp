#include "optim/optimizer.h"

#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

std::vector<UpdateSegment> segments_of(const ParameterLayout& layout, const OptimizerOptions& options) {
  std::vector<UpdateSegment> segments;
  for (const auto id : layout.ready_order()) {  // ascending, as they lie
    const bool decays = layout.spec(id).group == OptimizerGroup::Weight || options.decay_norm_and_bias;
    const auto range = layout.range(id);
    segments.push_back({.begin = range.begin.value(),
                        .end = range.end.value(),
                        .weight_decay = decays ? options.weight_decay : 0.0f});
  }
  return segments;
}

}  // namespace

int optimizer_states(const OptimizerOptions& options) {
  return std::holds_alternative<AdamWOptions>(options.rule) ? 2 : 1;
}

Optimizer::Optimizer(OpBackend& ops, ParameterStore& store, const OptimizerOptions& options) : store_(store) {
  TANDEM_EXPECT(store.options().optimizer_states == optimizer_states(options),
                "the optimizer keeps {} state arrays, the parameter store has {}", optimizer_states(options),
                store.options().optimizer_states);
  auto segments = segments_of(store.layout(), options);
  if (const auto* sgd = std::get_if<SgdOptions>(&options.rule)) {
    update_ =
        ops.make_sgd({.momentum = sgd->momentum, .nesterov = sgd->nesterov, .segments = std::move(segments)});
  } else {
    const auto& adamw = std::get<AdamWOptions>(options.rule);
    update_ = ops.make_adamw({.beta1 = adamw.beta1,
                              .beta2 = adamw.beta2,
                              .epsilon = adamw.epsilon,
                              .segments = std::move(segments)});
  }
}

void Optimizer::step(FlatRange range, StepPointers pointers, Stream& stream) {
  UpdateRange arrays{.first = range.begin.value(),
                     .master = store_.masters(range),
                     .working = store_.working(range),
                     .gradient = store_.gradients(range)};
  for (int state = 0; state < update_->states(); ++state)
    arrays.state[state] = store_.optimizer_state(state, range);
  update_->step(stream, arrays, pointers);
}

}  // namespace tandem
