// y = x W^T, with a fused tail: bias, or bias and GELU.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "params/gradient_sink.h"

namespace tandem {

enum class LinearTail { None, Bias, BiasGelu };

// `rows` x `in` times `out` x `in`. GELU is the tanh form, as GPT-2's:
//   gelu(z) = z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3)))
struct LinearSpec {
  std::int64_t rows = 0, in = 0, out = 0;
  DType dtype = DType::F32;
  LinearTail tail = LinearTail::None;
  // backward_input multiplies dx by gelu'(z) of the linear whose output x was: a GELU's backward costs no
  // pass.
  bool input_is_gelu = false;
};

class Linear {
 public:
  virtual ~Linear() = default;
  virtual ByteCount workspace_bytes() const = 0;

  struct Forward {
    TensorView x;     // [rows, in]
    TensorView w;     // [out, in]
    TensorView bias;  // [out]; empty for LinearTail::None
    TensorView y;     // [rows, out]
    TensorView z;     // [rows, out]: the values before GELU, written for backward; empty unless BiasGelu
    TensorView workspace;
  };
  virtual void forward(Stream& stream, const Forward& tensors) = 0;

  // In all of these dy is the gradient at z: before GELU, after bias.
  virtual void backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                               TensorView workspace) = 0;
  virtual void backward_bias(Stream& stream, TensorView dy, GradTarget dbias, TensorView workspace) = 0;
  // dx [rows, in]; `z_of_input` [rows, in] is empty unless input_is_gelu.
  virtual void backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                              TensorView z_of_input, TensorView workspace) = 0;
};

}  // namespace tandem
