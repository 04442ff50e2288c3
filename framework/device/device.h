// A device: memory, streams and events of one kind. Everything above this file is the same code for all
// devices.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/buffer.h"
#include "device/event.h"
#include "device/stream.h"

namespace tandem {

enum class DeviceKind { Cpu, Cuda };

// Runs the same enqueued work again and again. A device that can record work (a CUDA graph) records the
// second or third run and replays it from then on; any other device just calls `enqueue` each time. Hence
// `enqueue` must enqueue the same work on the same memory every time: what changes from run to run is read
// through pointers.
class Replay {
 public:
  virtual ~Replay() = default;
  virtual void run(const std::function<void()>& enqueue) = 0;
  // Host time spent recording so far; 0: nothing is recorded.
  virtual double recording_ms() const { return 0.0; }
};

// What an allocator of memory() can still give, and what there is. An estimate on hosts: other programs take
// memory too.
struct DeviceMemory {
  ByteCount free, total;
};

// Owned by the program; outlives everything it made. Its members may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;
  // Which of a host's memories memory() takes from: the PCI address of a GPU, "host" for the host's own.
  virtual std::string memory_address() const = 0;
  virtual DeviceMemory memory_info() const = 0;

  virtual std::unique_ptr<Stream> make_stream(StreamRole role) = 0;
  virtual std::unique_ptr<Event> make_event(EventUse use) = 0;
  // `origin` is the stream on which `enqueue` begins and on which it has joined all others it uses.
  virtual std::unique_ptr<Replay> make_replay(Stream& origin) = 0;

  virtual Allocator& memory() = 0;         // what kernels compute on
  virtual Allocator& pinned_memory() = 0;  // host memory that Stream::copy can reach

  // Milliseconds from one point to another. REQUIRES both events made for Timing, recorded and complete.
  virtual double elapsed_ms(const Event& from, const Event& to) const = 0;
};

}  // namespace tandem
