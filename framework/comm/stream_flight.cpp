#include "comm/stream_flight.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace tandem {

std::uint32_t StreamFlight::enqueue(Call call, bool captured) {
  const std::lock_guard lock(mutex_);
  const auto number = next_++;
  if (captured) {
    captured_.emplace(number, std::move(call));
  } else {
    if (latest_.size() == kKeptCalls) latest_.pop_front();
    latest_.emplace_back(number, std::move(call));
  }
  return number;
}

void StreamFlight::look(std::uint32_t started, std::uint32_t finished, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (started == started_ && finished == finished_) return;
  started_ = started;
  finished_ = finished;
  changed_ = now;
}

std::optional<StreamFlight::Clock::duration> StreamFlight::running_for(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  if (started_ == finished_) return std::nullopt;
  return now - changed_;
}

std::string StreamFlight::describe(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  if (started_ == finished_) {
    text = "  waiting in:  nothing; this rank's GPU had no collective running\n";
  } else {
    text = fmt::format("  waiting in:  {}, running for {:.1f} s at least\n", render(started_),
                       std::chrono::duration<double>(now - changed_).count());
  }
  if (finished_ != 0) text += fmt::format("  last done:   {}\n", render(finished_));
  return text;
}

std::string StreamFlight::render(std::uint32_t number) const {
  const Call* call = nullptr;
  if (const auto found = captured_.find(number); found != captured_.end()) {
    call = &found->second;
  } else if (const auto latest =
                 std::ranges::find(latest_, number, [](const auto& entry) { return entry.first; });
             latest != latest_.end()) {
    call = &latest->second;
  }
  if (call == nullptr) return fmt::format("#{}", number);
  const auto label = call->label.empty() ? std::string() : fmt::format(" \"{}\"", call->label);
  return fmt::format("#{} {}{}, {} bytes", number, name_of(call->kind), label, call->bytes.value());
}

}  // namespace tandem
