// The time stamps of steps, taken by events on the streams and read when the step has long finished.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "layers/context.h"
#include "parallel/gradient_reducer.h"
#include "report/step_quantities.h"
#include "report/step_timeline_record.h"

namespace tandem {

// Each slot of the trainer has a set of events. Recording costs an event on a stream and never waits. Begin,
// data-ready and end are recorded around a step, the others inside it, where a device may replay them as part
// of a graph.
//
// A step's begin must still be known when the next step is read, by which time its slot is in use again:
// begins have twice as many events as there are slots.
//
// Streams and the host have clocks of their own. begin_steps() relates them: the host waits for an event on
// the idle compute stream, whose time lies between the two looks at the host's clock.
class StepTimeline {
 public:
  struct Sizes {
    int slots = 0;
    std::size_t buckets = 0;
    int micro_batches = 0;
    std::size_t recomputed = 0;  // blocks that run forward again in each micro-batch
  };

  // With `enabled` false nothing is recorded and all stamps are empty.
  StepTimeline(Device& device, const Sizes& sizes, bool enabled);
  ~StepTimeline();

  // Before the first of a run of steps. REQUIRES that `compute` is idle; waits for it.
  void begin_steps(Stream& compute);
  void step_begin(std::int64_t step, int slot,
                  Stream& compute);  // the slot's stamps from here on are this step's
  void data_ready(Stream& compute);
  void forward_end(int micro_batch, Stream& compute);
  void backward_end(int micro_batch, Stream& compute);
  void wait_begin(std::size_t bucket, Stream& compute);
  void wait_end(std::size_t bucket, Stream& compute);
  void step_end(Stream& compute);
  BucketObserver* observer();               // stamps the all-reduces; null when nothing is measured
  RecomputeObserver* recompute_observer();  // likewise, blocks that run forward again

  // REQUIRES that the step has finished and that its slot was not begun again, and a call for each step in
  // turn. next_begin_ms is left empty.
  StepStamps read(std::int64_t step, int slot);
  // The same step stamp by stamp: what read() has put together. Load times, next_begin_ms and rank are left
  // to the caller; begin_ms is on this host's steady clock. REQUIRES that read() has read this step last.
  RankStepRecord sample(std::int64_t step, int slot) const;
  static double host_ms(std::chrono::steady_clock::time_point time);
  // From the begin of `step` to that of the one after. REQUIRES both finished.
  std::optional<double> begin_to_next_begin_ms(std::int64_t step) const;

 private:
  class AllReduceStamps;
  class RecomputeStamps;
  struct SlotEvents;

  Event& begin_of(std::int64_t step) const;

  Device& device_;
  bool enabled_;
  std::unique_ptr<Event> origin_;  // recorded at origin_ms_ of the host's clock
  std::unique_ptr<Event> tried_origin_;
  double origin_ms_ = 0.0;  // within origin_error_ms_
  double origin_error_ms_ = 0.0;
  std::int64_t last_read_ = -1;   // the step whose begin is
  double since_origin_ms_ = 0.0;  // after origin_; summed from begin to begin, since a device may
                                  // tell long stretches of time only coarsely
  std::vector<std::unique_ptr<Event>> begins_;
  std::vector<std::unique_ptr<SlotEvents>> slots_;
  SlotEvents* current_ = nullptr;
  std::unique_ptr<AllReduceStamps> observer_;
  std::unique_ptr<RecomputeStamps> recompute_observer_;
};

}  // namespace tandem
