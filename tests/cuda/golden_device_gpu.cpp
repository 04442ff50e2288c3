// Strict fp32 on a GPU. Libraries' epilogues may take their tanh from the special function unit, whose
// relative error is up to 2^-11 (PTX ISA, tanh.approx.f32): GPT sets what is allowed here, which is generous
// for ResNet. A real mistake is still five times as large.
#include <cuda_runtime_api.h>

#include "device/cuda/cuda_device.h"
#include "golden/golden_device.h"
#include "ops/cuda/cuda_backend.h"

namespace tandem {
namespace {

// A GPU that computes on pinned memory, through its bus: slow, and the host can address it.
class HostVisibleGpu final : public Device {
 public:
  CudaDevice& gpu() { return gpu_; }

  DeviceKind kind() const override { return gpu_.kind(); }
  std::string name() const override { return gpu_.name(); }
  std::string memory_address() const override { return "host"; }
  DeviceMemory memory_info() const override { return gpu_.memory_info(); }
  std::unique_ptr<Stream> make_stream(StreamRole role) override { return gpu_.make_stream(role); }
  std::unique_ptr<Event> make_event(EventUse use) override { return gpu_.make_event(use); }
  std::unique_ptr<Replay> make_replay(Stream& origin) override { return gpu_.make_replay(origin); }
  Allocator& memory() override { return gpu_.pinned_memory(); }
  Allocator& pinned_memory() override { return gpu_.pinned_memory(); }
  double elapsed_ms(const Event& from, const Event& to) const override { return gpu_.elapsed_ms(from, to); }

 private:
  CudaDevice gpu_{CudaDeviceOptions{}};
};

TrainingDevice on_gpu() {
  auto device = std::make_unique<HostVisibleGpu>();
  auto ops = make_cuda_backend(device->gpu(), {.autotune = false, .deterministic = true, .tf32 = false});
  return {std::move(device), std::move(ops)};
}

}  // namespace

GoldenDevice golden_device() {
  const auto found = CudaDevice::availability();
  return {.missing = found.devices > 0 ? "" : "no GPU: " + found.reason,
          .make = on_gpu,
          .forward = 1e-3,
          .statistics = 1e-3,
          .gradients = 2e-3,
          .updates = 2e-3};
}

}  // namespace tandem
