// 2-D convolution, NHWC, no bias, no groups.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "params/gradient_sink.h"

namespace tandem {

// N images of H x W x C in, K channels out, filter R x S.
//   P = (H + 2 padding - R) / stride + 1, rounded down; Q likewise from W and S.
struct Conv2dSpec {
  std::int64_t N = 0, H = 0, W = 0, C = 0, K = 0;
  std::int64_t R = 1, S = 1, stride = 1, padding = 0;
  DType dtype = DType::F32;
  bool input_gradient = true;  // false: backward_input is never called, nothing is planned for it

  std::int64_t P() const { return (H + 2 * padding - R) / stride + 1; }
  std::int64_t Q() const { return (W + 2 * padding - S) / stride + 1; }
};

// All members enqueue. `workspace` is scratch of at least workspace_bytes(), free again after the call's
// work.
class Conv2d {
 public:
  virtual ~Conv2d() = default;
  virtual ByteCount workspace_bytes() const = 0;

  // y [N,P,Q,K] = x [N,H,W,C] * w [K,R,S,C]
  virtual void forward(Stream& stream, TensorView x, TensorView w, TensorView y, TensorView workspace) = 0;
  // dw [K,R,S,C] = or += the sum over images and positions of dy [N,P,Q,K] times x
  virtual void backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                               TensorView workspace) = 0;
  // dx [N,H,W,C]
  virtual void backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                              TensorView workspace) = 0;
};

}  // namespace tandem
