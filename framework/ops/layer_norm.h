// Layer normalisation over the last axis, joined with the residual addition before it.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/addends.h"
#include "params/gradient_sink.h"

namespace tandem {

struct LayerNormSpec {
  std::int64_t rows = 0, C = 0;
  DType dtype = DType::F32;
  float epsilon = 1e-5f;
};

class LayerNorm {
 public:
  virtual ~LayerNorm() = default;
  virtual ByteCount saved_bytes() const = 0;  // mean and 1/deviation of each row
  virtual ByteCount workspace_bytes() const = 0;

  struct Forward {
    Addends x;               // [rows, C]
    TensorView scale, bias;  // [C] fp32
    TensorView sum;          // [rows, C]: x.first + x.second, written; empty where x is one tensor
    TensorView y;            // [rows, C]
    TensorView saved;
  };
  virtual void forward(Stream& stream, const Forward& tensors) = 0;

  struct Backward {
    TensorView dy;     // [rows, C]
    TensorView x;      // [rows, C]: what was normalised (`sum`, or the one addend)
    TensorView scale;  // [C]
    TensorView saved;
    TensorView d_residual;  // [rows, C]: gradient that reaches the sum on the residual path, added to dx; may
                            // be empty
    TensorView dx;          // [rows, C]; may be the memory of dy or d_residual
    GradTarget d_scale, d_bias;  // [C]
    TensorView workspace;
  };
  virtual void backward(Stream& stream, const Backward& tensors) = 0;
};

}  // namespace tandem
