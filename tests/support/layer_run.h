// One layer as a whole network: x in, y and dx out.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "layers/layer.h"
#include "ops/cpu/cpu_backend.h"
#include "support/finite_difference.h"
#include "support/planned_run.h"

namespace tandem {

// How flows come to the layer: as one tensor each, or as sums of two.
enum class FlowsAs { One, Sum };

// The values of x and dy are `x` (+ `x_second`) and `dy` halved twice where flows are sums.
class LayerRun {
 public:
  // Runs `layer` on values like those of `x`: its shape, and its dtype. Only fp32 has a gradient.
  LayerRun(std::unique_ptr<Layer> layer, HostTensor x, FlowsAs flows = FlowsAs::One)
      : layer_(std::move(layer)), x_(std::move(x)) {
    Planner plan(*backend_, DType::F32);
    const bool is_float = x_.view().dtype() == DType::F32;
    x_ids_ = external(plan, "x", x_.shape(), x_.view().dtype(), flows);
    x_ids_.needs_gradient = is_float;
    y_ids_ = layer_->plan_forward(plan, x_ids_);
    plan.op({reads(y_ids_.first), reads(y_ids_.second)});
    plan.begin_backward();
    const Shape y_shape = plan.shape(y_ids_.first);
    dy_ids_ = external(plan, "dy", y_shape, DType::F32, flows);
    dx_ids_ = layer_->plan_backward(plan, dy_ids_);
    if (dx_ids_.first.valid()) plan.op({reads(dx_ids_.first), reads(dx_ids_.second)});
    positions_id_ = plan.positions();
    run_ = std::make_unique<PlannedRun>(plan.finish());
    bind(y_shape, flows);
  }

  PlannedRun& run() { return *run_; }
  const HostTensor& x() const { return x_; }
  const Shape& y_shape() const { return dy_.shape(); }
  std::int64_t* positions() const { return positions_->values<std::int64_t>().data(); }

  HostTensor forward(Mode mode) {
    if (mode == Mode::Train) run_->sink.begin_micro_batch(0, 1);
    run_->begin(mode);
    // Dropout works in place: what is bound is a copy.
    std::memcpy(bound_x_.view().raw(), x_.view().raw(), static_cast<std::size_t>(x_.view().bytes().value()));
    if (!x_second_values_.view().empty() && x_ids_.is_sum()) {
      std::ranges::copy(x_second_values_.values(), bound_x_second_.values().begin());
    }
    layer_->forward(run_->context);
    return read_sum(y_ids_);
  }

  // Straight after forward(Train). Returns the gradient of x; empty if it has none.
  HostTensor backward(const HostTensor& dy, int micro_batch = 0, int micro_batches = 1) {
    const float part = dy_ids_.is_sum() ? 0.5f : 1.0f;
    for (std::int64_t i = 0; i < dy.elements(); ++i) {
      dy_[i] = part * dy[i];
      if (dy_ids_.is_sum()) dy_second_[i] = part * dy[i];
    }
    run_->sink.begin_micro_batch(micro_batch, micro_batches);
    layer_->backward(run_->context);
    HostTensor dx;
    if (dx_ids_.first.valid()) dx = read_sum(dx_ids_);
    run_->stream->synchronize();
    run_->context.expect_finished();
    return dx;
  }

 private:
  static Flow external(Planner& plan, const std::string& name, const Shape& shape, DType dtype,
                       FlowsAs flows) {
    const auto first = plan.external(name, shape, dtype);
    if (flows == FlowsAs::One) return Flow::of(first);
    return Flow::sum(first, plan.external(name + ".second", shape, dtype));
  }

  void bind(const Shape& y_shape, FlowsAs flows) {
    bound_x_ = x_.copy();
    dy_ = HostTensor(y_shape);
    run_->context.bind_external(x_ids_.first, bound_x_.view());
    run_->context.bind_external(dy_ids_.first, dy_.view());
    if (flows == FlowsAs::Sum) {
      x_second_values_ = HostTensor::random(x_.shape(), 77);
      bound_x_second_ = HostTensor(x_.shape());
      dy_second_ = HostTensor(y_shape);
      run_->context.bind_external(x_ids_.second, bound_x_second_.view());
      run_->context.bind_external(dy_ids_.second, dy_second_.view());
    }
    if (!positions_id_.valid()) return;
    const auto& planned = run_->plan.tensors[static_cast<std::size_t>(positions_id_.index)];
    positions_.emplace(planned.shape, DType::I64);
    for (std::int64_t i = 0; i < planned.shape[0]; ++i) positions()[i] = 1000 + 17 * i;
    run_->context.bind_external(positions_id_, positions_->view());
  }

  HostTensor read_sum(Flow flow) {
    const auto addends = run_->context.read(flow);
    run_->stream->synchronize();
    auto sum = snapshot(addends.first);
    if (!addends.second.empty()) {
      const float* second = addends.second.data<float>();
      for (std::int64_t i = 0; i < sum.elements(); ++i) sum[i] += second[i];
    }
    return sum;
  }

  std::unique_ptr<OpBackend> backend_ = make_cpu_backend();
  std::unique_ptr<Layer> layer_;
  HostTensor x_, x_second_values_, bound_x_, bound_x_second_, dy_, dy_second_;
  std::optional<HostTensor> positions_;
  Flow x_ids_, y_ids_, dy_ids_, dx_ids_;
  TensorId positions_id_;
  std::unique_ptr<PlannedRun> run_;
};

// THE gradient check: x (where it has a gradient) and every parameter against central differences, and
// gradients that two micro-batches add up against twice those of one.
inline void expect_layer_gradients(LayerRun& layer, const GradientCheck& check = {}) {
  auto& run = layer.run();
  const auto projection = HostTensor::random(layer.y_shape(), 5);
  const auto loss = [&] { return dot(layer.forward(Mode::Train), projection); };

  layer.forward(Mode::Train);
  const auto dx = layer.backward(projection);
  std::map<int, HostTensor> gradients;
  for (const auto id : run.store.layout().ready_order()) {
    gradients.emplace(id.index, snapshot(run.store.gradient(id)));
  }
  if (!dx.view().empty()) expect_gradient("x", layer.x(), dx, loss, check);
  for (const auto& [index, gradient] : gradients) {
    const auto& spec = run.plan.parameters[static_cast<std::size_t>(index)];
    const auto master = run.store.master({index});
    const auto values = snapshot(master);
    const auto loss_at_values = [&] {
      std::memcpy(master.raw(), values.view().raw(), static_cast<std::size_t>(master.bytes().value()));
      return loss();
    };
    expect_gradient(spec.name, values, gradient, loss_at_values, check);
    loss_at_values();  // the last difference is undone in `values` only
  }

  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    layer.forward(Mode::Train);
    layer.backward(projection, micro_batch, 2);
  }
  for (const auto& [index, gradient] : gradients) {
    const auto twice = snapshot(run.store.gradient({index}));
    std::vector<double> expected;
    for (const float value : gradient.values()) expected.push_back(2.0 * value);
    expect_close(run.plan.parameters[static_cast<std::size_t>(index)].name + " in two micro-batches", twice,
                 expected, 1e-5);  // sums of fp32 in another order
  }
}

}  // namespace tandem
