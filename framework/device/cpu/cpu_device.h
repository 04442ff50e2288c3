// The host as a device: worker threads for streams, aligned host memory.
#pragma once

#include "device/device.h"

namespace tandem {

class CpuDevice final : public Device {
 public:
  CpuDevice();
  ~CpuDevice() override;

  DeviceKind kind() const override { return DeviceKind::Cpu; }
  std::string name() const override;  // the processor's name
  std::string memory_address() const override { return "host"; }
  DeviceMemory memory_info() const override;  // see host_memory_info()
  std::unique_ptr<Stream> make_stream(StreamRole role) override;
  std::unique_ptr<Event> make_event(EventUse use) override;
  std::unique_ptr<Replay> make_replay(Stream& origin) override;
  Allocator& memory() override;
  Allocator& pinned_memory() override;
  double elapsed_ms(const Event& from, const Event& to) const override;

 private:
  std::unique_ptr<Allocator> host_memory_;
};

}  // namespace tandem
