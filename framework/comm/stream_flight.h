// What a GPU has reached of the collectives enqueued on it, from two numbers that its streams write.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "comm/collective_cost.h"
#include "core/dtype.h"

namespace tandem {

// The host does not see when a GPU starts a collective. So each one gets a number, which the stream writes to
// one word of host memory right before it and to another right after it. Both words equal: nothing is
// running. This works the same in CUDA graphs, where the writes are nodes: a captured collective keeps its
// number in every replay, and since each slot of the training loop has a graph of its own, numbers change
// from step to step all the same.
//
// Times are those of the looks, which the watchdog takes a few times per timeout. Members may be called from
// any thread.
class StreamFlight {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kKeptCalls = 256;  // of those that are not captured

  struct Call {
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::string label;
    ByteCount bytes;
  };

  // Gives the number to write, from 1. `captured`: it will run again and again.
  std::uint32_t enqueue(Call call, bool captured);

  // What the words hold at `now`.
  void look(std::uint32_t started, std::uint32_t finished, Clock::time_point now);

  // How long the words have shown the same collective running; none if they show nothing running.
  std::optional<Clock::duration> running_for(Clock::time_point now) const;

  // For people: what the GPU waits for and what it did last. Ends with a newline.
  std::string describe(Clock::time_point now) const;

 private:
  std::string render(std::uint32_t number) const;

  mutable std::mutex mutex_;
  std::uint32_t next_ = 1;
  std::map<std::uint32_t, Call> captured_;
  std::deque<std::pair<std::uint32_t, Call>> latest_;
  std::uint32_t started_ = 0;
  std::uint32_t finished_ = 0;
  Clock::time_point changed_{};
};

}  // namespace tandem
