// Pooling of NHWC images.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/addends.h"

namespace tandem {

enum class PoolKind { Max, Average };

// P = (H + 2 padding - window) / stride + 1, rounded down. Padding never wins a maximum and counts in no
// average.
struct PoolSpec {
  std::int64_t N = 0, H = 0, W = 0, C = 0;
  std::int64_t window_h = 1, window_w = 1, stride = 1, padding = 0;
  PoolKind kind = PoolKind::Max;
  DType dtype = DType::F32;

  std::int64_t P() const { return (H + 2 * padding - window_h) / stride + 1; }
  std::int64_t Q() const { return (W + 2 * padding - window_w) / stride + 1; }
};

class Pool {
 public:
  virtual ~Pool() = default;
  virtual ByteCount saved_bytes() const = 0;  // which element won; zero for averages

  virtual void forward(Stream& stream, TensorView x, TensorView y,
                       TensorView saved) = 0;  // [N,H,W,C] -> [N,P,Q,C]
  // The first element of a window in row-major order wins a tie, as in PyTorch.
  virtual void backward(Stream& stream, Addends dy, TensorView saved, TensorView dx) = 0;
};

}  // namespace tandem
