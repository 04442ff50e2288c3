#include "data/prefetcher.h"

#include <chrono>
#include <utility>

#include "core/error.h"

namespace tandem {

Prefetcher::Prefetcher(const BatchSource& source, const std::vector<BatchView>& slots, Steps steps)
    : source_(source), steps_(steps), next_(steps.first) {
  TANDEM_EXPECT(!slots.empty(), "prefetching needs at least one slot");
  TANDEM_EXPECT(steps.first >= 0 && steps.first <= steps.end, "steps [{}, {})", steps.first, steps.end);
  for (const BatchView& view : slots) {
    TANDEM_EXPECT(view.format() == source.format(), "slot {} does not have the format of the batches",
                  slots_.size());
    slots_.push_back({.view = view});
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Prefetcher::~Prefetcher() = default;  // jthread asks the thread to stop, which wakes it, and joins

PrefetchedBatch Prefetcher::acquire() {
  TANDEM_EXPECT(next_ < steps_.end, "step {} was asked for, the last one is {}", next_, steps_.end - 1);
  const std::size_t index = slot_of(next_);
  const auto asked = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[index];
  TANDEM_EXPECT(slot.state != State::Held, "step {} needs slot {}, which is not released", next_, index);
  changed_.wait(lock, [&] { return slot.state == State::Filled || failure_; });
  if (slot.state != State::Filled) std::rethrow_exception(failure_);
  slot.state = State::Held;
  const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - asked;
  return {.step = next_++,
          .slot = index,
          .view = slot.view,
          .valid_targets = slot.valid_targets,
          .data_wait_ms = waited.count(),
          .fill_begin = slot.fill_begin,
          .fill_end = slot.fill_end};
}

void Prefetcher::release(std::size_t slot) {
  {
    const std::lock_guard lock(mutex_);
    TANDEM_EXPECT(slot < slots_.size() && slots_[slot].state == State::Held, "slot {} is not held", slot);
    slots_[slot].state = State::Free;
  }
  changed_.notify_all();
}

void Prefetcher::run(const std::stop_token& stop) {
  for (std::int64_t step = steps_.first; step < steps_.end; ++step) {
    Slot& slot = slots_[slot_of(step)];
    {
      std::unique_lock lock(mutex_);
      const bool free = changed_.wait(lock, stop, [&] { return slot.state == State::Free; });
      if (!free || stop.stop_requested()) return;
    }
    // A free slot belongs to this thread, so that its memory and times are written without the lock.
    std::int64_t valid_targets = 0;
    std::exception_ptr failure;
    slot.fill_begin = std::chrono::steady_clock::now();
    try {
      valid_targets = source_.fill(step, slot.view);
    } catch (...) {
      failure = std::current_exception();
    }
    slot.fill_end = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(mutex_);
      failure_ = failure;
      slot.valid_targets = valid_targets;
      if (!failure) slot.state = State::Filled;
    }
    changed_.notify_all();
    if (failure) return;
  }
}

}  // namespace tandem
