// The kernels of pooling NHWC images.
//
// Launchers enqueue on `stream` and return what the launch returned. Bound by memory: forward reads x and
// writes y and the winners; backward reads dy and the winners about once (neighbours share them in the cache)
// and writes dx once. No atomics: each element of dx gathers from the windows that cover it, in their order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace tandem {

struct PoolShape {
  int N, H, W, C, P, Q;
  int window_h, window_w, stride, padding;
  bool maximum;
  DType dtype;
};

// The winner of each output element: its place in the window, row * window_w + column, in one byte where that
// holds all places, else in two.
std::int64_t pool_winner_bytes(const PoolShape& shape);

cudaError_t launch_pool_forward(const PoolShape& shape, const void* x, void* y, void* winners,
                                cudaStream_t stream);
// `dy_second` may be null.
cudaError_t launch_pool_backward(const PoolShape& shape, const void* dy, const void* dy_second,
                                 const void* winners, void* dx, cudaStream_t stream);

}  // namespace tandem
