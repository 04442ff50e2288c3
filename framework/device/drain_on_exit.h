// Nothing in flight when a scope is left, however it is left.
#pragma once

#include <utility>
#include <vector>

#include "device/stream.h"

namespace tandem {

// Work on a stream reads memory that belongs to whoever enqueued it. When an exception leaves the scope that
// enqueues, that memory goes away, so the work must have ended before: the destructor waits for all streams.
// Without an exception there is, as a rule, nothing left to wait for. A failure of a stream is let go here:
// it is on its way out already, or the stream's next user meets it.
class DrainOnExit {
 public:
  explicit DrainOnExit(std::vector<Stream*> streams) : streams_(std::move(streams)) {}
  ~DrainOnExit() {
    for (auto* stream : streams_) {
      try {
        stream->synchronize();
      } catch (...) {
      }
    }
  }
  DrainOnExit(const DrainOnExit&) = delete;
  DrainOnExit& operator=(const DrainOnExit&) = delete;

 private:
  std::vector<Stream*> streams_;
};

}  // namespace tandem
