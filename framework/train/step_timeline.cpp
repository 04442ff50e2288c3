#include "train/step_timeline.h"

#include <limits>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

using Events = std::vector<std::unique_ptr<Event>>;

Events make_events(Device& device, std::size_t count) {
  Events events;
  for (std::size_t i = 0; i < count; ++i) events.push_back(device.make_event(EventUse::Timing));
  return events;
}

}  // namespace

struct StepTimeline::SlotEvents {
  std::unique_ptr<Event> data_ready, end;
  Events forward_end, backward_end;                              // by micro-batch
  Events ready, wait_begin, wait_end, reduce_begin, reduce_end;  // by bucket
  Events recompute_begin, recompute_end;  // by micro-batch and, within it, by block in the order of backward
  bool reduces = false;  // there was communication to wait for; else waits are of no length and not shown
};

class StepTimeline::AllReduceStamps final : public BucketObserver {
 public:
  explicit AllReduceStamps(StepTimeline& timeline) : timeline_(timeline) {}
  void bucket_ready(std::size_t bucket, Stream& compute) override {
    compute.record(*timeline_.current_->ready[bucket]);
  }
  void before_all_reduce(std::size_t bucket, Stream& communication) override {
    timeline_.current_->reduces = true;
    communication.record(*timeline_.current_->reduce_begin[bucket]);
  }
  void after_all_reduce(std::size_t bucket, Stream& communication) override {
    communication.record(*timeline_.current_->reduce_end[bucket]);
  }

 private:
  StepTimeline& timeline_;
};

// Which block it is follows from the order of the calls, which is the same in every step.
class StepTimeline::RecomputeStamps final : public RecomputeObserver {
 public:
  explicit RecomputeStamps(StepTimeline& timeline) : timeline_(timeline) {}
  void begin_step() { next_ = 0; }
  void recompute_begin(Stream& compute) override {
    compute.record(*timeline_.current_->recompute_begin.at(next_));
  }
  void recompute_end(Stream& compute) override {
    compute.record(*timeline_.current_->recompute_end.at(next_++));
  }

 private:
  StepTimeline& timeline_;
  std::size_t next_ = 0;
};

StepTimeline::StepTimeline(Device& device, const Sizes& sizes, bool enabled)
    : device_(device), enabled_(enabled) {
  if (!enabled) return;
  origin_ = device.make_event(EventUse::Timing);
  tried_origin_ = device.make_event(EventUse::Timing);
  begins_ = make_events(device, 2 * static_cast<std::size_t>(sizes.slots));
  for (int i = 0; i < sizes.slots; ++i) {
    auto slot = std::make_unique<SlotEvents>();
    slot->data_ready = device.make_event(EventUse::Timing);
    slot->end = device.make_event(EventUse::Timing);
    slot->forward_end = make_events(device, static_cast<std::size_t>(sizes.micro_batches));
    slot->backward_end = make_events(device, static_cast<std::size_t>(sizes.micro_batches));
    const auto recomputed = sizes.recomputed * static_cast<std::size_t>(sizes.micro_batches);
    slot->recompute_begin = make_events(device, recomputed);
    slot->recompute_end = make_events(device, recomputed);
    for (auto* events :
         {&slot->ready, &slot->wait_begin, &slot->wait_end, &slot->reduce_begin, &slot->reduce_end}) {
      *events = make_events(device, sizes.buckets);
    }
    slots_.push_back(std::move(slot));
  }
  observer_ = std::make_unique<AllReduceStamps>(*this);
  recompute_observer_ = std::make_unique<RecomputeStamps>(*this);
}

StepTimeline::~StepTimeline() = default;

Event& StepTimeline::begin_of(std::int64_t step) const {
  return *begins_[static_cast<std::size_t>(step) % begins_.size()];
}

double StepTimeline::host_ms(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double, std::milli>(time.time_since_epoch()).count();
}

void StepTimeline::begin_steps(Stream& compute) {
  if (!enabled_) return;
  // Now and then the host is not run for a while between its two looks: the tightest of a few tries counts.
  constexpr int kTries = 8;
  origin_error_ms_ = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const auto before = host_ms(std::chrono::steady_clock::now());
    compute.record(*tried_origin_);
    tried_origin_->synchronize();
    const auto after = host_ms(std::chrono::steady_clock::now());
    if (after - before >= 2.0 * origin_error_ms_) continue;
    std::swap(origin_, tried_origin_);
    origin_ms_ = (before + after) / 2.0;
    origin_error_ms_ = (after - before) / 2.0;
  }
  last_read_ = -1;
}

void StepTimeline::step_begin(std::int64_t step, int slot, Stream& compute) {
  if (!enabled_) return;
  current_ = slots_[static_cast<std::size_t>(slot)].get();
  recompute_observer_->begin_step();
  compute.record(begin_of(step));
}

void StepTimeline::data_ready(Stream& compute) {
  if (enabled_) compute.record(*current_->data_ready);
}

void StepTimeline::forward_end(int micro_batch, Stream& compute) {
  if (enabled_) compute.record(*current_->forward_end[static_cast<std::size_t>(micro_batch)]);
}

void StepTimeline::backward_end(int micro_batch, Stream& compute) {
  if (enabled_) compute.record(*current_->backward_end[static_cast<std::size_t>(micro_batch)]);
}

void StepTimeline::wait_begin(std::size_t bucket, Stream& compute) {
  if (enabled_) compute.record(*current_->wait_begin[bucket]);
}

void StepTimeline::wait_end(std::size_t bucket, Stream& compute) {
  if (enabled_) compute.record(*current_->wait_end[bucket]);
}

void StepTimeline::step_end(Stream& compute) {
  if (enabled_) compute.record(*current_->end);
}

BucketObserver* StepTimeline::observer() {
  return observer_.get();
}

RecomputeObserver* StepTimeline::recompute_observer() {
  return recompute_observer_.get();
}

StepStamps StepTimeline::read(std::int64_t step, int slot) {
  StepStamps stamps;
  if (!enabled_) return stamps;
  if (last_read_ < 0) {
    since_origin_ms_ = device_.elapsed_ms(*origin_, begin_of(step));
  } else {
    since_origin_ms_ += device_.elapsed_ms(begin_of(last_read_), begin_of(step));
  }
  last_read_ = step;
  const auto& events = *slots_[static_cast<std::size_t>(slot)];
  const auto since_begin = [&](const Event& event) { return device_.elapsed_ms(begin_of(step), event); };
  stamps.begin_ms = 0.0;
  stamps.data_ready_ms = since_begin(*events.data_ready);
  stamps.backward_end_ms = since_begin(*events.backward_end.back());
  stamps.end_ms = since_begin(*events.end);
  // With accumulation forward and backward alternate; the stamp between them is put where their sums meet.
  double forward_end = *stamps.data_ready_ms;
  double pass_begin = forward_end;
  for (std::size_t i = 0; i < events.forward_end.size(); ++i) {
    forward_end += since_begin(*events.forward_end[i]) - pass_begin;
    pass_begin = since_begin(*events.backward_end[i]);
  }
  stamps.forward_end_ms = forward_end;
  const auto pairs = [&](const Events& begins, const Events& ends, std::vector<StampPair>& to) {
    for (std::size_t i = 0; i < begins.size(); ++i)
      to.push_back({since_begin(*begins[i]), since_begin(*ends[i])});
  };
  pairs(events.recompute_begin, events.recompute_end, stamps.recomputes);
  if (events.reduces) {
    pairs(events.wait_begin, events.wait_end, stamps.waits);
    pairs(events.reduce_begin, events.reduce_end, stamps.buckets);
  }
  return stamps;
}

RankStepRecord StepTimeline::sample(std::int64_t step, int slot) const {
  TANDEM_EXPECT(enabled_ && step == last_read_, "step {} is not the one that was read last", step);
  const auto& events = *slots_[static_cast<std::size_t>(slot)];
  const auto since_begin = [&](const Event& event) { return device_.elapsed_ms(begin_of(step), event); };
  const auto all = [&](const Events& of, std::vector<double>& to) {
    for (const auto& event : of) to.push_back(since_begin(*event));
  };
  RankStepRecord sample{.begin_ms = origin_ms_ + since_origin_ms_,
                        .clock_error_ms = origin_error_ms_,
                        .data_ready_ms = since_begin(*events.data_ready),
                        .end_ms = since_begin(*events.end)};
  all(events.forward_end, sample.forward_end_ms);
  all(events.backward_end, sample.backward_end_ms);
  all(events.recompute_begin, sample.recompute_begin_ms);
  all(events.recompute_end, sample.recompute_end_ms);
  if (!events.reduces) return sample;
  all(events.ready, sample.ready_ms);
  all(events.reduce_begin, sample.reduce_begin_ms);
  all(events.reduce_end, sample.reduce_end_ms);
  all(events.wait_begin, sample.wait_begin_ms);
  all(events.wait_end, sample.wait_end_ms);
  return sample;
}

std::optional<double> StepTimeline::begin_to_next_begin_ms(std::int64_t step) const {
  if (!enabled_) return std::nullopt;
  return device_.elapsed_ms(begin_of(step), begin_of(step + 1));
}

}  // namespace tandem
