// Batch normalisation, ReLU and the maximum of 3x3 windows with stride 2: the stem of networks for large
// images.
#pragma once

#include "ops/batch_norm.h"
#include "ops/pool.h"

namespace tandem {

// x [N,H,W,C] -> y [N,P,Q,C] = maximum over windows of relu(norm(x)): what a BatchNorm and a Pool compute,
// without a pass over memory for what goes from one to the other.
struct NormMaxPoolSpec {
  std::int64_t N = 0, H = 0, W = 0, C = 0;
  DType dtype = DType::F32;
  NormStatistics statistics = NormStatistics::Batch;
  float epsilon = 1e-5f;
  float momentum = 0.1f;

  BatchNormSpec norm() const {
    return {.rows = N * H * W,
            .C = C,
            .dtype = dtype,
            .statistics = statistics,
            .tail = NormTail::Relu,
            .epsilon = epsilon,
            .momentum = momentum};
  }
  PoolSpec pool() const {
    return {.N = N,
            .H = H,
            .W = W,
            .C = C,
            .window_h = 3,
            .window_w = 3,
            .stride = 2,
            .padding = 1,
            .kind = PoolKind::Max,
            .dtype = dtype};
  }
};

class NormMaxPool {
 public:
  virtual ~NormMaxPool() = default;

  // Bytes that forward writes for backward; opaque to the caller.
  virtual ByteCount saved_bytes() const = 0;
  virtual ByteCount workspace_bytes() const = 0;

  // In evaluation `saved` means nothing to anyone; it is scratch.
  struct Forward {
    TensorView x;  // [N,H,W,C]
    TensorView y;  // [N,P,Q,C]
    TensorView saved, workspace;
  };
  virtual void forward_train(Stream& stream, const BatchNormParameters& parameters,
                             const Forward& tensors) = 0;
  virtual void forward_evaluate(Stream& stream, const BatchNormParameters& parameters,
                                const Forward& tensors) = 0;

  struct Backward {
    Addends dy;    // [N,P,Q,C]
    TensorView x;  // what forward read
    TensorView saved;
    TensorView dx;  // [N,H,W,C]
    GradTarget d_scale, d_bias;
    TensorView workspace;
  };
  virtual void backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) = 0;
};

}  // namespace tandem
