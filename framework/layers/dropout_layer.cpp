#include "layers/dropout_layer.h"

namespace tandem {

Flow DropoutLayer::plan_forward(Planner& plan, Flow x) {
  if (options_.probability == 0.0f) return x;
  const Shape shape = plan.shape(x.first);
  TANDEM_EXPECT(shape[0] % options_.rows_per_sample == 0, "{} takes a multiple of {} rows, got {}",
                plan.path("dropout"), options_.rows_per_sample, shape.to_string());
  const auto samples = shape[0] / options_.rows_per_sample;
  by_sample_ = {samples, samples == 0 ? 0 : shape.elements().value() / samples};
  op_ = plan.ops().make_dropout({.samples = by_sample_[0],
                                 .elements_per_sample = by_sample_[1],
                                 .dtype = plan.compute_dtype(),
                                 .probability = options_.probability,
                                 .seed = options_.seed,
                                 .layer = static_cast<std::uint32_t>(plan.number_dropout())});
  positions_ = plan.sample_positions(samples);
  x_ = input_.plan(plan, x);
  needs_gradient_ = x.needs_gradient;
  plan.op({updates(x_), reads(positions_)});
  return Flow::of(x_);
}

Flow DropoutLayer::plan_backward(Planner& plan, Flow dy) {
  if (op_ == nullptr) return dy;
  if (!needs_gradient_) return Flow::none();
  dy_ = output_gradient_.plan(plan, dy);
  dx_ = plan.tensor("dx", plan.shape(x_));
  plan.op({reads(dy_), writes(dx_)});
  plan.op({updates(dx_), reads(positions_)});
  return Flow::of(dx_);
}

void DropoutLayer::forward(Context& context) {
  if (op_ == nullptr) return;
  input_.run(context);
  const auto x = context.update(x_);
  const auto positions = context.read(positions_);
  if (context.training()) op_->apply(context.stream(), x.reshaped(by_sample_), positions);
}

void DropoutLayer::backward(Context& context) {
  if (!dx_.valid()) return;
  output_gradient_.run(context);
  const auto dy = context.read(dy_);
  context.stream().copy(context.write(dx_).raw(), dy.raw(), dy.bytes());
  const auto dx = context.update(dx_);
  op_->apply(context.stream(), dx.reshaped(by_sample_), context.read(positions_));
}

}  // namespace tandem
