// The kernels of softmax and cross-entropy over rows of logits.
//
// Launchers enqueue on `stream` and return what the launch returned. A target outside [0, classes) ends the
// job: the kernel prints which one and where, and traps.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "ops/step_state.h"

namespace tandem {

struct CrossEntropyShape {
  std::int64_t rows, classes, stride;
  float label_smoothing;
  DType dtype;
  int shared_bytes;  // that a block may have
};

// What one row adds to the results. An ignored row adds nothing.
struct RowLoss {
  double loss;
  std::int32_t correct, valid;
};

// Measures every row into `row_losses` [rows], then adds those up in a fixed order. With `train` the logits
// are replaced by the gradient in the same pass: each is read once and written once, a row staying in shared
// memory, or read twice where it does not fit. Bound by memory, closely followed by two exponentials for each
// logit.
cudaError_t launch_cross_entropy(const CrossEntropyShape& shape, void* logits, const std::int32_t* targets,
                                 bool train, StepPointers step, RowLoss* row_losses, cudaStream_t stream);

// Lets the kernels have as much shared memory as the shape asks for. Once, before the first launch.
cudaError_t prepare_cross_entropy(const CrossEntropyShape& shape);

}  // namespace tandem
