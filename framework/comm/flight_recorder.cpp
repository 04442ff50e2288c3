#include "comm/flight_recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tandem {
namespace {

constexpr int kQueuedShown = 8;

double seconds_between(CollectiveRecord::Clock::time_point from, CollectiveRecord::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

bool running(const CollectiveRecord& record) {
  return record.started && !record.finished;
}

}  // namespace

FlightRecorder::FlightRecorder(RankIdentity identity, std::function<Clock::time_point()> now)
    : identity_(std::move(identity)), now_(std::move(now)) {}

std::uint64_t FlightRecorder::enqueue(CollectiveKind kind, std::string label, ByteCount bytes) {
  const std::lock_guard lock(mutex_);
  while (records_.size() >= kKeptRecords && records_.front().finished) records_.pop_front();
  records_.push_back({next_sequence_, kind, std::move(label), bytes, now_(), std::nullopt, std::nullopt});
  return next_sequence_++;
}

void FlightRecorder::start(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  find(sequence).started = now_();
}

void FlightRecorder::finish(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  auto& record = find(sequence);
  record.finished = now_();
  expected_wire_bytes_ += wire_bytes_per_rank(record.kind, record.bytes, identity_.world_size);
}

std::vector<CollectiveRecord> FlightRecorder::records() const {
  const std::lock_guard lock(mutex_);
  return {records_.begin(), records_.end()};
}

std::optional<CollectiveRecord> FlightRecorder::oldest_running() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(records_, running);
  return found == records_.end() ? std::nullopt : std::optional(*found);
}

double FlightRecorder::expected_wire_bytes() const {
  const std::lock_guard lock(mutex_);
  return expected_wire_bytes_;
}

std::string FlightRecorder::describe_pending() const {
  const auto kept = records();
  const auto now = now_();
  std::string text;
  int queued = 0;
  const CollectiveRecord* last_done = nullptr;
  for (const auto& record : kept) {
    if (record.finished) {
      last_done = &record;
    } else if (running(record)) {
      text += "  waiting in:  " + render(record, now);
    } else if (++queued <= kQueuedShown) {
      text += "  queued:      " + render(record, now);
    }
  }
  if (queued > kQueuedShown) text += fmt::format("  queued:      and {} more\n", queued - kQueuedShown);
  if (text.empty()) text = "  waiting in:  nothing; this rank had no collective pending\n";
  if (last_done != nullptr) text += "  last done:   " + render(*last_done, now);
  return text;
}

CollectiveRecord& FlightRecorder::find(std::uint64_t sequence) {
  TANDEM_EXPECT(!records_.empty() && sequence >= records_.front().sequence && sequence < next_sequence_,
                "collective #{} is not in the flight recorder", sequence);
  return records_[sequence - records_.front().sequence];
}

std::string FlightRecorder::render(const CollectiveRecord& record, Clock::time_point now) const {
  const auto [verb, since] = record.finished  ? std::pair("finished", *record.finished)
                             : record.started ? std::pair("started", *record.started)
                                              : std::pair("enqueued", record.enqueued);
  const auto label = record.label.empty() ? std::string() : fmt::format(" \"{}\"", record.label);
  return fmt::format("#{} {}{}, {} bytes, {} {:.1f} s ago\n", record.sequence, name_of(record.kind), label,
                     record.bytes.value(), verb, seconds_between(since, now));
}

}  // namespace tandem
