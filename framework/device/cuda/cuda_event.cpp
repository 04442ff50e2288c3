#include "device/cuda/cuda_event.h"

#include "core/error.h"
#include "device/cuda/cuda_stream.h"

namespace tandem {
namespace {

CudaEventHandle make(unsigned int flags) {
  cudaEvent_t raw = nullptr;
  TANDEM_CUDA(cudaEventCreateWithFlags(&raw, flags));
  return CudaEventHandle(raw);
}

}  // namespace

CudaEvent::CudaEvent(int ordinal, EventUse use) : use_(use) {
  TANDEM_CUDA(cudaSetDevice(ordinal));
  ordering_ = make(cudaEventDisableTiming);
  if (use == EventUse::Timing) timing_ = make(cudaEventDefault);
}

bool CudaEvent::complete() const {
  const auto status = cudaEventQuery(latest());
  if (status == cudaErrorNotReady) return false;
  TANDEM_CUDA(status);
  return true;
}

void CudaEvent::synchronize() const {
  TANDEM_CUDA(cudaEventSynchronize(latest()));
}

void CudaEvent::record(cudaStream_t stream) {
  if (use_ == EventUse::Ordering) {
    TANDEM_CUDA(cudaEventRecord(ordering_.get(), stream));
    return;
  }
  recorded_in_capture_ = is_capturing(stream);
  if (!recorded_in_capture_) {
    TANDEM_CUDA(cudaEventRecord(timing_.get(), stream));
  } else {
    // The external node stamps the time; it cannot be waited on within the capture, so the plain twin marks
    // the same point for that.
    TANDEM_CUDA(cudaEventRecordWithFlags(timing_.get(), stream, cudaEventRecordExternal));
    TANDEM_CUDA(cudaEventRecord(ordering_.get(), stream));
  }
}

void CudaEvent::enqueue_wait(cudaStream_t stream) const {
  // A stream joins a capture by waiting on an event recorded in it, so the stream may not be capturing yet:
  // how the event was recorded decides.
  const bool captured = use_ == EventUse::Ordering || recorded_in_capture_;
  TANDEM_CUDA(cudaStreamWaitEvent(stream, captured ? ordering_.get() : timing_.get(), cudaEventWaitDefault));
}

const CudaEvent& as_cuda(const Event& event) {
  const auto* cuda = dynamic_cast<const CudaEvent*>(&event);
  TANDEM_EXPECT(cuda != nullptr, "an event of another device");
  return *cuda;
}

}  // namespace tandem
