// Time on a GPU's stream.
#pragma once

#include <cuda_runtime.h>

namespace tandem {

// One thread that looks at the GPU's clock until `ms` have passed since it started. Reads and writes nothing.
void launch_spin(double ms, cudaStream_t stream);

}  // namespace tandem
