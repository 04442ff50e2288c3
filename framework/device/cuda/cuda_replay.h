// A step as a CUDA graph: enqueued eagerly at first, captured once, launched ever after.
#pragma once

#include "device/cuda/cuda_handles.h"
#include "device/cuda/cuda_stream.h"
#include "device/device.h"

namespace tandem {

// The first kEagerRuns runs enqueue as usual, so that libraries load their kernels and set up whatever they
// set up lazily: none of that is allowed in a capture. The next run is captured, instantiated and launched;
// later ones are launched only. The graph keeps the streams' priorities (without the flag, all nodes would
// take the launching stream's). Must be destroyed before the communicators whose collectives it holds.
//
// The capture is thread-local: other threads may allocate and copy meanwhile, the capturing one must not.
class CudaReplay final : public Replay {
 public:
  static constexpr int kEagerRuns = 2;

  explicit CudaReplay(CudaStream& origin) : origin_(origin) {}

  void run(const std::function<void()>& enqueue) override;

  double recording_ms() const override { return recording_ms_; }
  bool captured() const { return static_cast<bool>(executable_); }
  cudaGraph_t graph() const { return graph_.get(); }  // null until captured; for inspection

 private:
  void capture(const std::function<void()>& enqueue);

  CudaStream& origin_;
  int runs_ = 0;
  double recording_ms_ = 0.0;
  CudaGraphHandle graph_;
  CudaGraphExecHandle executable_;
};

}  // namespace tandem
