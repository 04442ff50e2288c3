// The overlap: gradients travel between ranks while the backward pass goes on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "device/device.h"
#include "params/grad_ready.h"
#include "params/parameter_store.h"

namespace tandem {

enum class Schedule {
  After,       // all buckets are sent when backward is over: nothing is hidden
  Overlapped,  // a bucket is sent as soon as it is complete
};

// Told when a bucket's last gradient is enqueued and of its all-reduce, to stamp them on the two streams.
// Only enqueues. Not told of anything where nothing is communicated.
class BucketObserver {
 public:
  virtual ~BucketObserver() = default;
  virtual void bucket_ready(std::size_t bucket, Stream& compute) = 0;
  virtual void before_all_reduce(std::size_t bucket, Stream& communication) = 0;
  virtual void after_all_reduce(std::size_t bucket, Stream& communication) = 0;
};

// The whole protocol of a step, on two streams of one rank:
//
//   compute        … dW3 | dX3 | dW2 | dX2 | dW1 |          | update bucket 0 | update bucket 1
//                       \ ready     \ ready     \ ready     ^ wait            ^ wait
//   communication        [ all-reduce 0 ][ all-reduce 1 ]…  |                 |
//
// ready() counts a bucket's missing gradients down; at zero an event on the compute stream holds the
// communication stream back until the kernels before it have run, and the all-reduce works in place on the
// bucket's range of the flat gradient array. Nothing is copied, and the host never waits.
//
// Buckets are sent in the order of the plan, whatever the order in which they become complete, so that all
// ranks make the same calls in the same order: collectives that cross deadlock.
//
// Used by the one thread that enqueues. Everything given to the constructor outlives it.
class GradientReducer final : public GradReady {
 public:
  struct Streams {
    Stream& compute;
    Stream& communication;
  };

  GradientReducer(Device& device, ParameterStore& store, Communicator& communicator, Streams streams,
                  Schedule schedule);

  std::size_t buckets() const { return store_.layout().buckets().size(); }
  Schedule schedule() const { return schedule_; }

  void begin_step(BucketObserver* observer);  // `observer` may be null; it lives until the step is enqueued
  void ready(ParamId parameter) override;     // throws Error, naming it, if it is ready a second time
  void end_backward();  // sends what is left; throws Error naming the parameters that never became ready

  // The compute stream's later work starts after bucket's all-reduce. REQUIRES end_backward() this step.
  void wait_for(std::size_t bucket);
  // Whether there is anything to wait for: false in a job of one rank.
  bool communicates() const { return communicator_.world_size() > 1; }

 private:
  struct Bucket {
    FlatRange range;
    int parameters = 0;               // how many it has
    int missing = 0;                  // how many are not ready in this step
    std::string label;                // for reports of what a job waits for
    std::unique_ptr<Event> complete;  // on compute: its last gradient is written
    std::unique_ptr<Event> reduced;   // on communication: its sum is there
  };

  void send_complete_buckets();
  void send(std::size_t bucket);
  [[noreturn]] void fail_missing() const;

  ParameterStore& store_;
  Communicator& communicator_;
  Streams streams_;
  Schedule schedule_;
  BucketObserver* observer_ = nullptr;
  std::vector<Bucket> buckets_;
  std::vector<bool> is_ready_;  // by parameter
  std::size_t sent_ = 0;        // buckets [0, sent_) are on their way
};

}  // namespace tandem
