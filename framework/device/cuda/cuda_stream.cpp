#include "device/cuda/cuda_stream.h"

#include "core/error.h"
#include "device/cuda/cuda_event.h"

namespace tandem {

CudaStream::CudaStream(int ordinal, StreamRole role) : ordinal_(ordinal) {
  TANDEM_CUDA(cudaSetDevice(ordinal));
  int least = 0;
  int greatest = 0;
  TANDEM_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t raw = nullptr;
  TANDEM_CUDA(cudaStreamCreateWithPriority(&raw, cudaStreamNonBlocking,
                                           role == StreamRole::Communication ? greatest : least));
  handle_ = CudaStreamHandle(raw);
}

cudaStream_t CudaStream::raw() const {
  TANDEM_CUDA(cudaSetDevice(ordinal_));
  return handle_.get();
}

int CudaStream::priority() const {
  int priority = 0;
  TANDEM_CUDA(cudaStreamGetPriority(raw(), &priority));
  return priority;
}

void CudaStream::record(Event& event) {
  auto* cuda = dynamic_cast<CudaEvent*>(&event);
  TANDEM_EXPECT(cuda != nullptr, "a CUDA stream records CUDA events only");
  cuda->record(raw());
}

void CudaStream::wait(const Event& event) {
  as_cuda(event).enqueue_wait(raw());
}

void CudaStream::copy(void* to, const void* from, ByteCount bytes) {
  if (bytes == ByteCount(0)) return;
  TANDEM_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes.value()), cudaMemcpyDefault, raw()));
}

void CudaStream::zero(void* memory, ByteCount bytes) {
  if (bytes == ByteCount(0)) return;
  TANDEM_CUDA(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes.value()), raw()));
}

void CudaStream::synchronize() {
  TANDEM_CUDA(cudaStreamSynchronize(raw()));
}

void CudaStream::throw_if_failed() const {
  const auto stream = raw();
  if (is_capturing(stream)) return;  // a query would break the capture
  const auto status = cudaStreamQuery(stream);
  if (status != cudaErrorNotReady) TANDEM_CUDA(status);
}

bool is_capturing(cudaStream_t stream) {
  auto status = cudaStreamCaptureStatusNone;
  TANDEM_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

CudaStream& as_cuda(Stream& stream) {
  auto* cuda = dynamic_cast<CudaStream*>(&stream);
  TANDEM_EXPECT(cuda != nullptr, "a CUDA op was given a stream of another device");
  return *cuda;
}

}  // namespace tandem
