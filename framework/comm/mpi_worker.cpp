#include "comm/mpi_worker.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "comm/short_sleep.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Pauses between two looks at MPI. A small message is back within the spin; a large one moves megabytes per
// look, so sleeping costs it little, and the core belongs to computation meanwhile.
class BackOff {
 public:
  void pause() {
    if (Clock::now() < spin_end_) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(next_);
    next_ = std::min(next_ * 2, kLongest);
  }

 private:
  static constexpr microseconds kSpin{30};
  static constexpr microseconds kLongest{100};

  const Clock::time_point spin_end_ = Clock::now() + kSpin;
  microseconds next_{5};
};

// Between operations MPI may still have to push out the end of a message that is complete for the caller;
// nobody else would call it. Slower the longer nothing happens.
constexpr microseconds kFirstIdleLook{100};
constexpr microseconds kLastIdleLook{10000};

std::exception_ptr look_at_mpi(MPI_Comm world) noexcept {
  try {
    int found = 0;
    TANDEM_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &found, MPI_STATUS_IGNORE));
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void MpiCalls::wait(std::span<MPI_Request> requests) const {
  BackOff back_off;
  while (true) {
    int done = 0;
    TANDEM_MPI(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    if (done != 0) return;
    back_off.pause();
  }
}

void MpiCalls::exchange(std::span<const std::byte> out, int to, std::span<std::byte> in, int from) const {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  constexpr int kTag = 0;
  TANDEM_EXPECT(out.size() <= kMost && in.size() <= kMost,
                "one message of {} or {} bytes is more than MPI counts", out.size(), in.size());
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (!in.empty()) {
    TANDEM_MPI(
        MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, from, kTag, world(), &requests[0]));
  }
  if (!out.empty()) {
    TANDEM_MPI(
        MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, to, kTag, world(), &requests[1]));
  }
  wait(requests);
}

MpiWorker::MpiWorker(const MpiWorld& world, FlightRecorder& recorder)
    : recorder_(recorder), calls_(world, recorder.identity()), thread_([this] { loop(); }) {}

MpiWorker::~MpiWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::unique_ptr<MpiWorker::Place> MpiWorker::reserve(CollectiveKind kind, std::string label,
                                                     ByteCount bytes) {
  return std::make_unique<Place>(*this, recorder_.enqueue(kind, std::move(label), bytes));
}

void MpiWorker::throw_if_failed() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void MpiWorker::run(std::uint64_t sequence, const Job& job) {
  auto waiting = std::make_shared<Waiting>();
  waiting->job = &job;
  std::unique_lock lock(mutex_);
  arrived_[sequence] = waiting;
  changed_.notify_all();
  changed_.wait(lock, [&] { return waiting->done; });
  if (waiting->failure) std::rethrow_exception(waiting->failure);
}

void MpiWorker::drop(std::uint64_t sequence) noexcept {
  {
    const std::lock_guard lock(mutex_);
    arrived_[sequence] = std::make_shared<Waiting>();
  }
  changed_.notify_all();
}

std::shared_ptr<MpiWorker::Waiting> MpiWorker::next_in_order() {
  auto idle_look = kFirstIdleLook;
  std::unique_lock lock(mutex_);
  while (true) {
    if (const auto found = arrived_.find(next_sequence_); found != arrived_.end()) {
      auto waiting = std::move(found->second);
      arrived_.erase(found);
      return waiting;
    }
    if (stopping_) return nullptr;
    if (failure_) {
      changed_.wait(lock);
    } else if (changed_.wait_for(lock, idle_look) == std::cv_status::timeout) {
      lock.unlock();
      const auto failure = look_at_mpi(calls_.world());
      lock.lock();
      if (failure) failure_ = failure;
      idle_look = std::min(idle_look * 2, kLastIdleLook);
    }
  }
}

void MpiWorker::execute(Waiting& waiting) {
  throw_if_failed();
  TANDEM_EXPECT(waiting.job != nullptr,
                "collective #{} was dropped because work before it on its stream failed", next_sequence_);
  recorder_.start(next_sequence_);
  try {
    (*waiting.job)(calls_);
  } catch (const Error& error) {
    auto pending = recorder_.describe_pending();
    pending.pop_back();  // the newline at its end
    throw error.with(
        "\n" + pending +
        "\n  to do:    look at the other ranks first; ranks that make different collectives, or in "
        "another order, end like this too");
  }
}

void MpiWorker::loop() {
  take_short_sleeps();
  while (const auto waiting = next_in_order()) {
    std::exception_ptr failure;
    try {
      execute(*waiting);
    } catch (...) {
      failure = std::current_exception();
    }
    recorder_.finish(next_sequence_);
    {
      const std::lock_guard lock(mutex_);
      ++next_sequence_;
      waiting->failure = failure;
      waiting->done = true;
      if (failure && !failure_) failure_ = failure;
    }
    changed_.notify_all();
  }
}

}  // namespace tandem
