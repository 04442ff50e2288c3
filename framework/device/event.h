// A point in the work of a stream.
#pragma once

namespace tandem {

// Ordering events carry no time and cost least; only Timing events may be given to Device::elapsed_ms.
enum class EventUse { Ordering, Timing };

// Owned by whoever made it; must outlive all work that was enqueued with it. Recording it again moves the
// point: a wait that was already enqueued keeps the point it saw. Thread-safe for one recorder and any number
// of waiters.
class Event {
 public:
  virtual ~Event() = default;

  // Whether the work before the latest record has finished. True for an event that was never recorded.
  virtual bool complete() const = 0;

  // Blocks the host until complete(); rethrows what the stream's work threw. The only wait of the training
  // loop is one of these, on the fence of a step some steps back.
  virtual void synchronize() const = 0;
};

}  // namespace tandem
