// The one thread of a rank that calls MPI, and the order in which it does.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "comm/flight_recorder.h"
#include "comm/mpi_world.h"

namespace tandem {

// What a job does MPI with. Lives on the worker's thread.
class MpiCalls {
 public:
  MpiCalls(const MpiWorld& world, const RankIdentity& identity) : world_(world), identity_(identity) {}

  MPI_Comm world() const { return world_.handle; }
  int rank() const { return identity_.rank.value; }
  int world_size() const { return identity_.world_size; }

  // Returns when all are complete. Polls with short sleeps, since MPI's own wait would burn a core that
  // computes.
  void wait(std::span<MPI_Request> requests) const;

  // Sends `out` to one rank while receiving `in` from another; either may be empty, which moves nothing. Both
  // sides must agree on sizes.
  void exchange(std::span<const std::byte> out, int to, std::span<std::byte> in, int from) const;

 private:
  const MpiWorld& world_;
  const RankIdentity& identity_;
};

// Operations run one at a time in the order of reserve(), whichever thread comes to run() first: two streams
// of a rank may race, yet every rank runs the same sequence. That cannot deadlock, because work enqueued
// earlier never waits for work enqueued later. How long an operation may take is the Watchdog's business.
//
// After the first failure every operation throws it. Members may be called from any thread but the worker's
// own.
class MpiWorker {
 public:
  using Job = std::function<void(const MpiCalls&)>;

  // A reserved place in the order. If it is destroyed unused (its stream failed and dropped the work), this
  // rank no longer does what its peers do, so the worker fails.
  class Place {
   public:
    Place(MpiWorker& worker, std::uint64_t sequence) : worker_(worker), sequence_(sequence) {}
    ~Place() {
      if (!used_) worker_.drop(sequence_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Blocks until the job has run on the worker's thread; throws what it threw.
    void run(const Job& job) {
      used_ = true;
      worker_.run(sequence_, job);
    }

   private:
    MpiWorker& worker_;
    const std::uint64_t sequence_;
    bool used_ = false;
  };

  // Both outlive the worker; the recorder's identity is this rank's.
  MpiWorker(const MpiWorld& world, FlightRecorder& recorder);
  ~MpiWorker();  // REQUIRES that no place is in use
  MpiWorker(const MpiWorker&) = delete;
  MpiWorker& operator=(const MpiWorker&) = delete;

  std::unique_ptr<Place> reserve(CollectiveKind kind, std::string label, ByteCount bytes);
  void throw_if_failed() const;
  const RankIdentity& identity() const { return recorder_.identity(); }

 private:
  struct Waiting {
    const Job* job = nullptr;  // null: dropped
    bool done = false;
    std::exception_ptr failure;
  };

  void run(std::uint64_t sequence, const Job& job);
  void drop(std::uint64_t sequence) noexcept;
  void loop();
  std::shared_ptr<Waiting> next_in_order();
  void execute(Waiting& waiting);

  FlightRecorder& recorder_;
  const MpiCalls calls_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::shared_ptr<Waiting>> arrived_;
  std::uint64_t next_sequence_ = 1;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: starts when everything above exists
};

}  // namespace tandem
