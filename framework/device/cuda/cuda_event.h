// The GPU's event.
#pragma once

#include "device/cuda/cuda_handles.h"
#include "device/event.h"

namespace tandem {

// A timing event that is recorded while a graph is captured becomes an external record: a node of the graph
// that stamps this event each time the graph runs. Such an event says when, never whether: before a replay
// runs, it still shows the record of the replay before. Completion is read from an ordinary event recorded on
// the stream after the replay. (CUDA Runtime API, cudaEventRecordWithFlags.)
//
// An event recorded inside a capture orders the work of that capture only; work outside waits on an event
// recorded after the replay.
class CudaEvent final : public Event {
 public:
  CudaEvent(int ordinal, EventUse use);

  bool complete() const override;
  void synchronize() const override;

  EventUse use() const { return use_; }
  void record(cudaStream_t stream);
  void enqueue_wait(cudaStream_t stream) const;
  cudaEvent_t timed() const { return use_ == EventUse::Timing ? timing_.get() : nullptr; }

 private:
  cudaEvent_t latest() const { return use_ == EventUse::Timing ? timing_.get() : ordering_.get(); }

  EventUse use_;
  CudaEventHandle ordering_;  // inside a capture, what other streams wait on
  CudaEventHandle timing_;    // empty for EventUse::Ordering
  bool recorded_in_capture_ = false;
};

// The CudaEvent behind an Event. Throws Error if it belongs to another device.
const CudaEvent& as_cuda(const Event& event);

}  // namespace tandem
