// A device whose time is arithmetic: work takes the time it says, and no clock is read.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/error.h"
#include "device/cpu/cpu_device.h"

namespace tandem {

// A point in virtual time; a record moves it to the stream's present.
class VirtualEvent final : public Event {
 public:
  bool complete() const override { return true; }
  void synchronize() const override {}

  double ms = 0.0;
};

// Runs work at once, on the calling thread, and counts the time that it would have taken. Since a stream's
// work is enqueued in order, and an event is recorded before another stream waits on it, the times are those
// of streams that run side by side.
class VirtualStream final : public Stream {
 public:
  void record(Event& event) override { dynamic_cast<VirtualEvent&>(event).ms = now_ms_; }
  void wait(const Event& event) override {
    now_ms_ = std::max(now_ms_, dynamic_cast<const VirtualEvent&>(event).ms);
  }
  void copy(void* to, const void* from, ByteCount bytes) override {
    std::memmove(to, from, static_cast<std::size_t>(bytes.value()));
  }
  void zero(void* memory, ByteCount bytes) override {
    std::memset(memory, 0, static_cast<std::size_t>(bytes.value()));
  }
  void synchronize() override {}
  void throw_if_failed() const override {}

  double now_ms() const { return now_ms_; }
  void run_for(double ms) { now_ms_ += ms; }
  void run_until(double ms) { now_ms_ = std::max(now_ms_, ms); }

 private:
  double now_ms_ = 0.0;
};

inline VirtualStream& as_virtual(Stream& stream) {
  auto* found = dynamic_cast<VirtualStream*>(&stream);
  TANDEM_EXPECT(found != nullptr, "not a virtual stream");
  return *found;
}

class VirtualDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::Cpu; }
  std::string name() const override { return "virtual"; }
  std::string memory_address() const override { return "virtual"; }
  DeviceMemory memory_info() const override { return host_.memory_info(); }
  std::unique_ptr<Stream> make_stream(StreamRole) override { return std::make_unique<VirtualStream>(); }
  std::unique_ptr<Event> make_event(EventUse) override { return std::make_unique<VirtualEvent>(); }
  std::unique_ptr<Replay> make_replay(Stream&) override { return std::make_unique<PlainReplay>(); }
  Allocator& memory() override { return host_.memory(); }
  Allocator& pinned_memory() override { return host_.pinned_memory(); }
  double elapsed_ms(const Event& from, const Event& to) const override {
    return dynamic_cast<const VirtualEvent&>(to).ms - dynamic_cast<const VirtualEvent&>(from).ms;
  }

 private:
  struct PlainReplay final : Replay {
    void run(const std::function<void()>& enqueue) override { enqueue(); }
  };

  CpuDevice host_;
};

}  // namespace tandem
