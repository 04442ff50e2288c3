// A queue of device work that runs in order.
#pragma once

#include "core/dtype.h"
#include "device/event.h"

namespace tandem {

// All members but synchronize() only enqueue and return at once. Work of two streams is unordered unless one
// waits on an event of the other. One thread at a time may enqueue on a stream.
//
// If enqueued work throws, the stream drops the work behind it (events still complete, so that nobody hangs)
// and rethrows the exception from throw_if_failed(), synchronize() and the synchronize() of its events.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual void record(Event& event) = 0;      // event = everything enqueued here so far
  virtual void wait(const Event& event) = 0;  // later work here starts after the event's latest record
  virtual void copy(void* to, const void* from, ByteCount bytes) = 0;  // host memory must be pinned
  virtual void zero(void* memory, ByteCount bytes) = 0;

  virtual void synchronize() = 0;  // blocks the host until everything enqueued here has run
  virtual void throw_if_failed() const = 0;
};

// What a stream is for. Devices with priorities give communication the higher one: its kernels are small and
// a late start delays every rank.
enum class StreamRole { Compute, Communication, Copy };

}  // namespace tandem
