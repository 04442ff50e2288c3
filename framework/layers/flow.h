// What crosses a layer boundary.
#pragma once

namespace tandem {

// Names a tensor of a plan. Its memory is known only when the plan is executed.
struct TensorId {
  int index = -1;
  bool valid() const { return index >= 0; }
  bool operator==(const TensorId&) const = default;
};

// A tensor, or the sum of two that nobody has added yet: the output of a residual block, or its input
// gradient. The first layer that reads a sum adds in its own pass over the data, so that an addition costs no
// pass of its own.
struct Flow {
  TensorId first;
  TensorId second;             // invalid where the flow is one tensor
  bool needs_gradient = true;  // false for what comes from the data: no layer computes its gradient

  static Flow of(TensorId tensor) { return {.first = tensor, .second = {}}; }
  static Flow sum(TensorId a, TensorId b) { return {.first = a, .second = b}; }
  static Flow none() { return {.first = {}, .second = {}, .needs_gradient = false}; }
  bool is_sum() const { return second.valid(); }
};

}  // namespace tandem
