// Kernels for timing other kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace tandem {

// Fills with uniform numbers in [-scale, scale): zeros would draw less power and so flatter what is timed.
cudaError_t launch_fill_random(void* data, DType dtype, std::int64_t count, float scale, cudaStream_t stream);

// One thread that keeps the stream busy for `microseconds`, so that what is enqueued meanwhile runs back to
// back.
cudaError_t launch_spin(std::int64_t microseconds, cudaStream_t stream);

}  // namespace tandem
