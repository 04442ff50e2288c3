// What the ranks of a job are doing together: every collective from the call to its end, by sequence number.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/collective_cost.h"
#include "comm/communicator.h"

namespace tandem {

struct RankIdentity {
  Rank rank;
  int world_size = 1;
  std::string host;
};

struct CollectiveRecord {
  using Clock = std::chrono::steady_clock;

  std::uint64_t sequence = 0;  // from 1; the same collective has the same number on all ranks
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::string label;
  ByteCount bytes;
  Clock::time_point enqueued;
  std::optional<Clock::time_point>
      started;  // all work before it on its stream is done, and its turn has come
  std::optional<Clock::time_point> finished;  // or failed
};

// Keeps every unfinished record and the latest finished ones. Members may be called from any thread and never
// block for longer than a copy. The clock can be replaced by tests.
class FlightRecorder {
 public:
  using Clock = CollectiveRecord::Clock;
  static constexpr std::size_t kKeptRecords = 256;

  explicit FlightRecorder(RankIdentity identity, std::function<Clock::time_point()> now = Clock::now);

  const RankIdentity& identity() const { return identity_; }

  std::uint64_t enqueue(CollectiveKind kind, std::string label,
                        ByteCount bytes);  // gives the sequence number
  void start(std::uint64_t sequence);
  void finish(std::uint64_t sequence);

  std::vector<CollectiveRecord> records() const;  // those kept, oldest first
  // The running collective that started first, if any.
  std::optional<CollectiveRecord> oldest_running() const;
  // What the link had to carry for the collectives finished so far, by wire_bytes_per_rank().
  double expected_wire_bytes() const;

  // For people: what this rank waits for, what is queued behind it, and what was done last. Ends with a
  // newline.
  std::string describe_pending() const;

 private:
  CollectiveRecord& find(std::uint64_t sequence);
  std::string render(const CollectiveRecord& record, Clock::time_point now) const;

  const RankIdentity identity_;
  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  std::deque<CollectiveRecord> records_;  // consecutive sequence numbers
  std::uint64_t next_sequence_ = 1;
  double expected_wire_bytes_ = 0.0;
};

}  // namespace tandem
