// Two batch normalisations added up, and ReLU: the end of a residual block whose shortcut is normalised too.
#pragma once

#include <array>

#include "ops/batch_norm.h"

namespace tandem {

// y = relu(norm(x of branch 0) + norm(x of branch 1)), each branch with its own statistics and parameters.
// What a BatchNorm of one branch and another with the tail AddRelu compute, without a pass over memory for
// what goes from one to the other. The spec's tail is AddRelu.
class DualBatchNorm {
 public:
  virtual ~DualBatchNorm() = default;

  // Bytes that forward writes for backward; opaque to the caller.
  virtual ByteCount saved_bytes() const = 0;
  virtual ByteCount workspace_bytes() const = 0;

  struct Branch {
    TensorView x;  // [rows, C]
    BatchNormParameters parameters;
  };
  using Branches = std::array<Branch, 2>;

  virtual void forward_train(Stream& stream, const Branches& branches, TensorView y, TensorView saved,
                             TensorView workspace) = 0;
  virtual void forward_evaluate(Stream& stream, const Branches& branches, TensorView y,
                                TensorView workspace) = 0;

  struct BranchGradient {
    TensorView dx;  // [rows, C]; that of branch 0 may be the memory of dy.first
    GradTarget d_scale, d_bias;
  };
  struct Backward {
    Addends dy;  // [rows, C]
    TensorView saved;
    std::array<BranchGradient, 2> branches;
    TensorView workspace;
  };
  // `branches` as forward had them.
  virtual void backward(Stream& stream, const Branches& branches, const Backward& tensors) = 0;
};

}  // namespace tandem
