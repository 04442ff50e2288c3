// Pooling of images.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

struct PoolOptions {
  PoolKind kind = PoolKind::Max;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool global = false;  // one window as large as the image; the three above do not count

  static PoolOptions global_average() { return {.kind = PoolKind::Average, .global = true}; }
};

// x [N,H,W,C] -> y [N,P,Q,C], or [N,C] of a global pool.
class PoolLayer final : public Layer {
 public:
  explicit PoolLayer(const PoolOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  PoolOptions options_;
  std::unique_ptr<Pool> op_;
  SingleTensor input_;
  Shape output_;  // [N,P,Q,C]
  Flow dy_;
  bool needs_gradient_ = true;
  TensorId x_, y_, saved_, dx_;
};

}  // namespace tandem
