// One GPU as a device.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/cuda_memory.h"
#include "device/device.h"

namespace tandem {

struct CudaDeviceOptions {
  int ordinal = 0;     // among the visible GPUs
  bool graphs = true;  // make_replay() records CUDA graphs; else it enqueues each time
};

class CudaDevice final : public Device {
 public:
  // Throws Error if there is no such GPU, saying why.
  explicit CudaDevice(const CudaDeviceOptions& options);

  // What the driver offers. `reason` says in words why `devices` is 0.
  struct Availability {
    int devices = 0;
    std::string reason;
  };
  static Availability availability();

  DeviceKind kind() const override { return DeviceKind::Cuda; }
  std::string name() const override { return name_; }  // "NVIDIA H200"
  std::string memory_address() const override;         // "0000:1a:00.0", as Linux writes it
  DeviceMemory memory_info() const override;
  std::unique_ptr<Stream> make_stream(StreamRole role) override;
  std::unique_ptr<Event> make_event(EventUse use) override;
  std::unique_ptr<Replay> make_replay(Stream& origin) override;
  Allocator& memory() override { return memory_; }
  Allocator& pinned_memory() override { return pinned_memory_; }
  double elapsed_ms(const Event& from, const Event& to) const override;

  int ordinal() const { return options_.ordinal; }
  int multiprocessors() const { return multiprocessors_; }
  int compute_capability() const { return compute_capability_; }  // 90 for 9.0

  // Calls of either allocator so far; a step must not change it.
  std::int64_t allocations() const { return memory_.allocations() + pinned_memory_.allocations(); }

 private:
  CudaDeviceOptions options_;
  std::string name_;
  int multiprocessors_ = 0;
  int compute_capability_ = 0;
  CudaAllocator memory_;
  CudaAllocator pinned_memory_;
};

// The CudaDevice behind a Device. Throws Error if it is of another kind.
CudaDevice& as_cuda(Device& device);

}  // namespace tandem
