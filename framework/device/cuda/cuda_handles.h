// Owners of the CUDA runtime's handles.
#pragma once

#include <cuda_runtime_api.h>

#include "device/cuda/cuda_check.h"
#include "device/cuda/handle.h"

namespace tandem {

inline void destroy_stream(cudaStream_t raw) noexcept {
  TANDEM_CUDA_REPORT(cudaStreamDestroy(raw));
}
inline void destroy_event(cudaEvent_t raw) noexcept {
  TANDEM_CUDA_REPORT(cudaEventDestroy(raw));
}
inline void destroy_graph(cudaGraph_t raw) noexcept {
  TANDEM_CUDA_REPORT(cudaGraphDestroy(raw));
}
inline void destroy_graph_exec(cudaGraphExec_t raw) noexcept {
  TANDEM_CUDA_REPORT(cudaGraphExecDestroy(raw));
}

using CudaStreamHandle = Handle<cudaStream_t, destroy_stream>;
using CudaEventHandle = Handle<cudaEvent_t, destroy_event>;
using CudaGraphHandle = Handle<cudaGraph_t, destroy_graph>;
using CudaGraphExecHandle = Handle<cudaGraphExec_t, destroy_graph_exec>;

}  // namespace tandem
