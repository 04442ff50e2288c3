// Eigen's view of tensors: row-major matrices and flat arrays on memory that somebody else owns.
#pragma once

#include <Eigen/Core>

#include "core/tensor_view.h"

namespace tandem {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<RowMajor>;
using ArrayMap = Eigen::Map<Eigen::ArrayXf>;
using ConstArrayMap = Eigen::Map<const Eigen::ArrayXf>;

// REQUIRES rows * columns elements of fp32 in `tensor`.
inline MatrixMap matrix(const TensorView& tensor, std::int64_t rows, std::int64_t columns) {
  return MatrixMap(tensor.data<float>(), rows, columns);
}

// All elements in memory order.
inline ArrayMap array(const TensorView& tensor) {
  return ArrayMap(tensor.data<float>(), tensor.elements().value());
}

}  // namespace tandem
