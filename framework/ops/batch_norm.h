// Batch normalisation over the last axis, with an optional tail: ReLU, or add and ReLU.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/addends.h"
#include "params/gradient_sink.h"

namespace tandem {

// Which mean and variance normalise.
enum class NormStatistics {
  Batch,     // of this rank's batch in training (running ones follow), running ones in evaluation
  Running,   // running ones always: a frozen batch norm
  Identity,  // mean 0, variance 1, no epsilon: a plain channel-wise affine map, for networks without
             // normalisation
};

enum class NormTail { None, Relu, AddRelu };

// x is [rows, C]: rows = N * H * W.
//   z = scale * (x - mean) / sqrt(variance + epsilon) + bias;  y = z, relu(z) or relu(z + residual)
// The variance is the biased one; the running variance follows the unbiased one, as in PyTorch:
//   running = (1 - momentum) * running + momentum * batch
struct BatchNormSpec {
  std::int64_t rows = 0, C = 0;
  DType dtype = DType::F32;
  NormStatistics statistics = NormStatistics::Batch;
  NormTail tail = NormTail::None;
  float epsilon = 1e-5f;
  float momentum = 0.1f;
};

// Parameters and buffers, each fp32 [C].
struct BatchNormParameters {
  TensorView scale, bias, running_mean, running_variance;
};

class BatchNorm {
 public:
  virtual ~BatchNorm() = default;

  // Bytes that forward writes for backward (statistics, ReLU mask); opaque to the caller.
  virtual ByteCount saved_bytes() const = 0;
  virtual ByteCount workspace_bytes() const = 0;

  // `residual` [rows, C] is empty unless the tail is AddRelu.
  virtual void forward_train(Stream& stream, TensorView x, TensorView residual,
                             const BatchNormParameters& parameters, TensorView y, TensorView saved,
                             TensorView workspace) = 0;
  virtual void forward_evaluate(Stream& stream, TensorView x, TensorView residual,
                                const BatchNormParameters& parameters, TensorView y) = 0;

  struct Backward {
    Addends dy;    // [rows, C]
    TensorView x;  // what forward read
    TensorView saved;
    TensorView dx;               // [rows, C]; may be the memory of dy.first
    TensorView d_residual;       // [rows, C] out; empty unless the tail is AddRelu
    GradTarget d_scale, d_bias;  // [C]
    TensorView workspace;
  };
  virtual void backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) = 0;
};

}  // namespace tandem
