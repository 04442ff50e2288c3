// The kernels around matrix products: sums of columns, GELU where no epilogue does it, storing of gradients.
//
// Launchers enqueue on `stream` and return what the launch returned. All are bound by memory; each element is
// read once and written once unless said otherwise.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace tandem {

struct ConstFloats {
  const void* data;
  DType dtype;
};
struct Floats {
  void* data;
  DType dtype;
};

// Where a gradient goes: target = value, or target += value.
struct GradientOut {
  void* data;
  DType dtype;
  bool accumulate;
};

// `to` = or += `from`, element by element, from any float dtype to any other. A plain cast without
// `accumulate`.
cudaError_t launch_store_gradient(ConstFloats from, GradientOut to, std::int64_t count, cudaStream_t stream);

// `to` [columns] = or += the sums over rows of `matrix` [rows, columns]. Two stages in a fixed order and
// without atomics: the same bits every time. `partial_sums` holds column_sum_floats() fp32.
std::int64_t column_sum_floats(std::int64_t rows, std::int64_t columns);
struct ColumnSum {
  ConstFloats matrix;
  std::int64_t rows, columns;
  GradientOut to;
  float* partial_sums;
};
cudaError_t launch_column_sum(const ColumnSum& sum, cudaStream_t stream);

// matrix [rows, columns] += bias [columns], both of one dtype.
cudaError_t launch_add_bias(Floats matrix, const void* bias, std::int64_t rows, std::int64_t columns,
                            cudaStream_t stream);

// y = gelu(z), the tanh form; both of y's dtype.
cudaError_t launch_gelu(const void* z, Floats y, std::int64_t count, cudaStream_t stream);

// dx *= gelu'(z); both of dx's dtype. Reads both, writes dx.
cudaError_t launch_gelu_backward(const void* z, Floats dx, std::int64_t count, cudaStream_t stream);

}  // namespace tandem
