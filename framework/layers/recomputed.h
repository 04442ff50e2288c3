// A layer whose forward pass runs twice to save memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

// Keeps of a block's forward pass its input and its output; the backward pass runs the block's forward pass
// again before its own (Chen, Xu, Zhang, Guestrin: "Training deep nets with sublinear memory cost", 2016).
// What lies within one block is then dead while another runs, so that all of them share the memory of one:
// the planner finds that out by itself, since the ops of the second pass write everything anew.
//
// Same bits as the block alone: ops are deterministic, and dropout knows the sample and not the time. A block
// whose forward pass leaves a mark outside of the plan (running statistics) must not be wrapped.
//
// An input that is a sum is added up first, in a pass of its own: to keep one tensor for long is worth more
// than the pass.
class Recomputed final : public Layer {
 public:
  explicit Recomputed(std::unique_ptr<Layer> block) : block_(std::move(block)) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  std::unique_ptr<Layer> block_;
  SingleTensor input_;
  std::size_t first_op_ = 0, end_op_ = 0;  // of the block's forward pass
  std::string range_;                      // "recompute h.7"
};

}  // namespace tandem
