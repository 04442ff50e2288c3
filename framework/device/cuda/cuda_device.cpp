#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <cctype>
#include <string>

#include "core/error.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_replay.h"
#include "device/cuda/cuda_stream.h"

namespace tandem {
namespace {

class EnqueueEachTime final : public Replay {
 public:
  void run(const std::function<void()>& enqueue) override { enqueue(); }
};

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  TANDEM_CUDA(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

}  // namespace

CudaDevice::Availability CudaDevice::availability() {
  Availability found;
  const auto status = cudaGetDeviceCount(&found.devices);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    found = {0, cudaGetErrorString(status)};
  } else if (found.devices == 0) {
    found.reason = "no GPU is visible";
  }
  return found;
}

CudaDevice::CudaDevice(const CudaDeviceOptions& options)
    : options_(options),
      memory_(options.ordinal, CudaAllocator::Place::Device),
      pinned_memory_(options.ordinal, CudaAllocator::Place::PinnedHost) {
  const auto found = availability();
  TANDEM_EXPECT(options.ordinal >= 0 && options.ordinal < found.devices,
                "GPU {} was asked for, {} visible{}{}", options.ordinal, found.devices,
                found.reason.empty() ? "" : ": ", found.reason);
  TANDEM_CUDA(cudaSetDevice(options.ordinal));
  cudaDeviceProp properties{};
  TANDEM_CUDA(cudaGetDeviceProperties(&properties, options.ordinal));
  name_ = properties.name;
  multiprocessors_ = properties.multiProcessorCount;
  compute_capability_ = 10 * attribute(cudaDevAttrComputeCapabilityMajor, options.ordinal) +
                        attribute(cudaDevAttrComputeCapabilityMinor, options.ordinal);
}

std::unique_ptr<Stream> CudaDevice::make_stream(StreamRole role) {
  return std::make_unique<CudaStream>(options_.ordinal, role);
}

std::unique_ptr<Event> CudaDevice::make_event(EventUse use) {
  return std::make_unique<CudaEvent>(options_.ordinal, use);
}

std::unique_ptr<Replay> CudaDevice::make_replay(Stream& origin) {
  if (!options_.graphs) return std::make_unique<EnqueueEachTime>();
  return std::make_unique<CudaReplay>(as_cuda(origin));
}

double CudaDevice::elapsed_ms(const Event& from, const Event& to) const {
  const auto start = as_cuda(from).timed();
  const auto end = as_cuda(to).timed();
  TANDEM_EXPECT(start != nullptr && end != nullptr, "an event made for ordering has no time");
  float ms = 0.0f;
  TANDEM_CUDA(cudaEventElapsedTime(&ms, start, end));
  return static_cast<double>(ms);
}

std::string CudaDevice::memory_address() const {
  constexpr int kLongest = 32;  // "00000000:1A:00.0" and its end
  char address[kLongest] = {};
  TANDEM_CUDA(cudaDeviceGetPCIBusId(address, kLongest, options_.ordinal));
  std::string text = address;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

DeviceMemory CudaDevice::memory_info() const {
  TANDEM_CUDA(cudaSetDevice(options_.ordinal));
  std::size_t free = 0;
  std::size_t total = 0;
  TANDEM_CUDA(cudaMemGetInfo(&free, &total));
  return {ByteCount(static_cast<std::int64_t>(free)), ByteCount(static_cast<std::int64_t>(total))};
}

CudaDevice& as_cuda(Device& device) {
  auto* cuda = dynamic_cast<CudaDevice*>(&device);
  TANDEM_EXPECT(cuda != nullptr, "a CUDA op was given a device of another kind");
  return *cuda;
}

}  // namespace tandem
