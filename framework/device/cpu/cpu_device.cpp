#include "device/cpu/cpu_device.h"

#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "device/cpu/cpu_event.h"
#include "device/cpu/cpu_stream.h"
#include "device/cpu/host_memory_info.h"

namespace tandem {
namespace {

class HostMemory final : public Allocator {
 public:
  void* allocate(ByteCount bytes) override {
    const auto padded = bytes.rounded_up(kBufferAlignment).value();
    void* memory = std::aligned_alloc(static_cast<std::size_t>(kBufferAlignment.value()),
                                      static_cast<std::size_t>(padded));
    TANDEM_EXPECT(memory != nullptr, "no {} bytes of host memory left", bytes.value());
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }
};

class CallEachTime final : public Replay {
 public:
  void run(const std::function<void()>& enqueue) override { enqueue(); }
};

const CpuEvent& as_cpu_event(const Event& event) {
  const auto* cpu = dynamic_cast<const CpuEvent*>(&event);
  TANDEM_EXPECT(cpu != nullptr, "an event of another device");
  return *cpu;
}

}  // namespace

CpuDevice::CpuDevice() : host_memory_(std::make_unique<HostMemory>()) {}
CpuDevice::~CpuDevice() = default;

std::string CpuDevice::name() const {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

DeviceMemory CpuDevice::memory_info() const {
  return host_memory_info();
}

std::unique_ptr<Stream> CpuDevice::make_stream(StreamRole) {
  return std::make_unique<CpuStream>();
}
std::unique_ptr<Event> CpuDevice::make_event(EventUse) {
  return std::make_unique<CpuEvent>();
}
std::unique_ptr<Replay> CpuDevice::make_replay(Stream&) {
  return std::make_unique<CallEachTime>();
}
Allocator& CpuDevice::memory() {
  return *host_memory_;
}
Allocator& CpuDevice::pinned_memory() {
  return *host_memory_;
}

double CpuDevice::elapsed_ms(const Event& from, const Event& to) const {
  const auto span = as_cpu_event(to).time() - as_cpu_event(from).time();
  return std::chrono::duration<double, std::milli>(span).count();
}

}  // namespace tandem
