// The CPU's event: a count of records asked for and of records reached, with the time of the latest.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "device/event.h"

namespace tandem {

class CpuEvent final : public Event {
 public:
  using Clock = std::chrono::steady_clock;

  // Called by the recording thread; the ticket names this record.
  std::uint64_t ask() {
    const std::lock_guard lock(mutex_);
    return ++asked_;
  }
  std::uint64_t latest() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  // Called by the stream's worker when it gets there; `failure` is what the stream's work threw before, if
  // anything.
  void reach(std::uint64_t ticket, std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      reached_ = ticket;
      time_ = Clock::now();
      if (failure) failure_ = std::move(failure);
    }
    changed_.notify_all();
  }

  void wait_for(std::uint64_t ticket) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= ticket; });
  }

  bool complete() const override {
    const std::lock_guard lock(mutex_);
    return reached_ >= asked_;
  }

  void synchronize() const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= asked_; });
    if (failure_) std::rethrow_exception(failure_);
  }

  Clock::time_point time() const {
    const std::lock_guard lock(mutex_);
    return time_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t asked_ = 0;
  std::uint64_t reached_ = 0;
  Clock::time_point time_{};
  std::exception_ptr failure_;
};

}  // namespace tandem
