// What kernels that hold much in shared memory ask for before their first launch.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem {

// Lets `kernel` have `bytes` of dynamic shared memory per block, and a multiprocessor hold as many of its
// blocks as that leaves room for: left alone, the driver may give the shared memory of fewer blocks and the
// rest to the L1 cache.
template <class... Arguments>
cudaError_t allow_shared_memory(void (*kernel)(Arguments...), int bytes) {
  const auto error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxShared);
}

}  // namespace tandem
