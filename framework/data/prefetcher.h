// Fills batches ahead of the trainer on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "data/batch.h"
#include "data/batch_source.h"

namespace tandem {

struct PrefetchedBatch {
  std::int64_t step = 0;
  std::size_t slot = 0;            // step mod number of slots
  BatchView view;                  // the slot's memory; constant until release(slot)
  std::int64_t valid_targets = 0;  // of this rank
  double data_wait_ms = 0.0;       // how long acquire() blocked
  std::chrono::steady_clock::time_point fill_begin, fill_end;  // when the thread loaded it
};

// Batches come in the order of steps, and step s always lies in slot s mod K; the thread is at most K steps
// ahead of the last release. Source and slot memory must outlive the prefetcher.
//
// acquire() and release() are called by one thread. An exception out of the source comes out of the acquire()
// of its step, and out of every later one; the batches before it are delivered. The destructor waits for no
// more than the batch being filled.
class Prefetcher {
 public:
  struct Steps {
    std::int64_t first = 0;
    std::int64_t end = 0;  // one past the last
  };

  // Starts at once. Throws Error unless there is a slot and every slot has the source's format.
  Prefetcher(const BatchSource& source, const std::vector<BatchView>& slots, Steps steps);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Blocks until the next step's batch is there. Throws Error, rather than block for ever, after the last
  // step and when the step's slot has not been released.
  PrefetchedBatch acquire();

  // Lets the thread overwrite the slot: everything that reads it must have finished.
  void release(std::size_t slot);

 private:
  enum class State { Free, Filled, Held };
  struct Slot {
    BatchView view;
    State state = State::Free;
    std::int64_t valid_targets = 0;
    std::chrono::steady_clock::time_point fill_begin, fill_end;
  };

  void run(const std::stop_token& stop);
  std::size_t slot_of(std::int64_t step) const { return static_cast<std::size_t>(step) % slots_.size(); }

  const BatchSource& source_;
  const Steps steps_;
  std::int64_t next_;  // step of the next acquire; only the caller's thread uses it

  std::mutex mutex_;  // guards state and counts of the slots, and failure_
  std::condition_variable_any changed_;
  std::vector<Slot> slots_;
  std::exception_ptr failure_;

  std::jthread thread_;  // last: everything it uses exists before it starts
};

}  // namespace tandem
