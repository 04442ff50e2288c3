// The kernels of optimizer steps over one range of the flat arrays.
//
// Launchers enqueue on `stream` and return what the launch returned. Bound by memory: master and states are
// read and written once, the gradient read and the working copy written once. Everything that changes from
// step to step is read through `step`; a step whose gradients were not finite changes nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "ops/cuda/linear_kernels.h"
#include "ops/step_state.h"

namespace tandem {

// A stretch of the whole array, as UpdateSegment.
struct DeviceSegment {
  std::int64_t begin, end;
  float weight_decay;
};

// A block updates one chunk of the whole array. The table tells which segment is the first that ends behind
// the chunk's begin; threads walk on from there.
inline constexpr std::int64_t kUpdateChunk = 2048;

struct SegmentTable {
  const DeviceSegment* segments;
  const std::int32_t* first_of_chunk;
  std::int32_t segment_count;
  std::int64_t chunks;  // none of what lies behind is in a segment
};

struct UpdateArrays {
  std::int64_t first, count;  // of the range, in elements of the whole array
  float* master;
  Floats working;  // null where there is none
  ConstFloats gradient;
  float* state[2];
};

struct SgdFactors {
  float momentum;
  bool nesterov;
};
cudaError_t launch_sgd(const SegmentTable& table, const UpdateArrays& arrays, const SgdFactors& factors,
                       StepPointers step, cudaStream_t stream);

struct AdamWFactors {
  float beta1, beta2, epsilon;
};
cudaError_t launch_adamw(const SegmentTable& table, const UpdateArrays& arrays, const AdamWFactors& factors,
                         StepPointers step, cudaStream_t stream);

}  // namespace tandem
