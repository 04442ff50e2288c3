// The GPU's stream: non-blocking, so it never meets the legacy default stream.
#pragma once

#include "device/cuda/cuda_handles.h"
#include "device/stream.h"

namespace tandem {

// Communication streams get the highest priority that the GPU has. Work that fails on the GPU is sticky:
// every later call of the process fails too, and throws Error.
class CudaStream final : public Stream {
 public:
  CudaStream(int ordinal, StreamRole role);

  // The raw stream, for kernel launches and library calls. EFFECTS: makes the stream's GPU the calling
  // thread's current one, since a launch goes to the current GPU.
  cudaStream_t raw() const;
  int priority() const;  // as the driver reports it; lower is more urgent

  void record(Event& event) override;
  void wait(const Event& event) override;
  void copy(void* to, const void* from, ByteCount bytes) override;
  void zero(void* memory, ByteCount bytes) override;
  void synchronize() override;
  void throw_if_failed() const override;

 private:
  int ordinal_;
  CudaStreamHandle handle_;
};

bool is_capturing(cudaStream_t stream);

// The CudaStream behind a Stream. Throws Error if it belongs to another device.
CudaStream& as_cuda(Stream& stream);

}  // namespace tandem
