#include "device/cuda/cuda_replay.h"

#include <chrono>

namespace tandem {

void CudaReplay::run(const std::function<void()>& enqueue) {
  if (runs_ < kEagerRuns) {
    ++runs_;
    enqueue();
    return;
  }
  if (!executable_) {
    const auto begin = std::chrono::steady_clock::now();
    capture(enqueue);
    recording_ms_ =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  TANDEM_CUDA(cudaGraphLaunch(executable_.get(), origin_.raw()));
}

void CudaReplay::capture(const std::function<void()>& enqueue) {
  const auto stream = origin_.raw();
  TANDEM_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    // Leaves capture mode; its own complaint would hide the cause.
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    static_cast<void>(cudaGetLastError());
    if (graph != nullptr) TANDEM_CUDA_REPORT(cudaGraphDestroy(graph));
    throw;
  }
  TANDEM_CUDA(cudaStreamEndCapture(stream, &graph));
  graph_ = CudaGraphHandle(graph);
  cudaGraphExec_t executable = nullptr;
  TANDEM_CUDA(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagUseNodePriority));
  executable_ = CudaGraphExecHandle(executable);
}

}  // namespace tandem
