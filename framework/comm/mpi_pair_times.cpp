#include "comm/mpi_pair_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <vector>

#include "comm/mpi_worker.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTag = 17;
constexpr int kSmallBytes = 8;
constexpr int kWindow = 64;  // messages on their way at once

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One side of the pair.
class PairSide {
 public:
  PairSide(const MpiCalls& mpi, const PairRequest& request)
      : mpi_(mpi),
        first_(mpi.rank() == request.from.value),
        peer_(first_ ? request.to.value : request.from.value),
        out_(static_cast<std::size_t>(request.large.value())),
        in_(out_.size()) {}

  // Median over rounds of half the round trip, in microseconds.
  double latency_us(int rounds) {
    constexpr double kMicro = 1e6;
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
      const auto begin = Clock::now();
      if (first_) send(kSmallBytes);
      receive(kSmallBytes);
      if (!first_) send(kSmallBytes);
      times.push_back(seconds_since(begin) / 2 * kMicro);
    }
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return times[static_cast<std::size_t>(rounds / 2)];
  }

  double messages_per_s(int rounds) {
    const int windows = std::max(1, rounds / 4);
    const auto begin = Clock::now();
    for (int window = 0; window < windows; ++window) {
      exchange_window();
      answer();
    }
    return kWindow * windows / seconds_since(begin);
  }

  double gb_per_s(int rounds) {
    const int bytes = static_cast<int>(out_.size());
    move_one_way(bytes);  // connects, and maps memory
    answer();
    const auto begin = Clock::now();
    for (int round = 0; round < rounds; ++round) move_one_way(bytes);
    answer();
    return static_cast<double>(out_.size()) * rounds / seconds_since(begin) / 1e9;
  }

  double both_gb_per_s(int rounds) {
    const int bytes = static_cast<int>(out_.size());
    const auto begin = Clock::now();
    for (int round = 0; round < rounds; ++round)
      TANDEM_MPI(MPI_Sendrecv(out_.data(), bytes, MPI_BYTE, peer_, kTag, in_.data(), bytes, MPI_BYTE, peer_,
                              kTag, mpi_.world(), MPI_STATUS_IGNORE));
    return 2.0 * static_cast<double>(out_.size()) * rounds / seconds_since(begin) / 1e9;
  }

 private:
  void send(int bytes) { TANDEM_MPI(MPI_Send(out_.data(), bytes, MPI_BYTE, peer_, kTag, mpi_.world())); }
  void receive(int bytes) {
    TANDEM_MPI(MPI_Recv(in_.data(), bytes, MPI_BYTE, peer_, kTag, mpi_.world(), MPI_STATUS_IGNORE));
  }
  void move_one_way(int bytes) { first_ ? send(bytes) : receive(bytes); }
  void answer() { first_ ? receive(kSmallBytes) : send(kSmallBytes); }  // all has arrived

  void exchange_window() {
    std::array<MPI_Request, kWindow> requests{};
    for (int i = 0; i < kWindow; ++i) {
      auto* request = &requests[static_cast<std::size_t>(i)];
      auto* memory = (first_ ? out_ : in_).data() + i * kSmallBytes;
      if (first_) {
        TANDEM_MPI(MPI_Isend(memory, kSmallBytes, MPI_BYTE, peer_, kTag, mpi_.world(), request));
      } else {
        TANDEM_MPI(MPI_Irecv(memory, kSmallBytes, MPI_BYTE, peer_, kTag, mpi_.world(), request));
      }
    }
    TANDEM_MPI(MPI_Waitall(kWindow, requests.data(), MPI_STATUSES_IGNORE));
  }

  const MpiCalls& mpi_;
  const bool first_;
  const int peer_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

void run_alone(MpiWorker& worker, const char* label, const MpiWorker::Job& job) {
  worker.reserve(CollectiveKind::HostExchange, label, ByteCount(0))->run(job);
}

// From the rank that measured to all.
PairTimes shared(MpiWorker& worker, PairTimes times, int root) {
  std::array<double, 4> values = {times.latency_us, times.gb_per_s, times.both_gb_per_s,
                                  times.messages_per_s};
  run_alone(worker, "pair times", [&](const MpiCalls& mpi) {
    MPI_Request request = MPI_REQUEST_NULL;
    TANDEM_MPI(
        MPI_Ibcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, root, mpi.world(), &request));
    mpi.wait({&request, 1});
  });
  return {values[0], values[1], values[2], values[3]};
}

}  // namespace

PairTimes measure_pair(MpiWorker& worker, const PairRequest& request) {
  const int rank = worker.identity().rank.value;
  const int ranks = worker.identity().world_size;
  const int from = request.from.value;
  const int to = request.to.value;
  TANDEM_EXPECT(from != to && std::min(from, to) >= 0 && std::max(from, to) < ranks,
                "ranks {} and {} are no pair of a job of {}", from, to, ranks);
  TANDEM_EXPECT(
      request.large.value() >= kWindow * kSmallBytes && request.rounds > 0 && request.large_rounds > 0,
      "messages of {} bytes, {} and {} rounds", request.large.value(), request.rounds, request.large_rounds);
  PairTimes times;
  run_alone(worker, "pair", [&](const MpiCalls& mpi) {
    if (rank != from && rank != to) return;  // the others take part in the order only
    PairSide side(mpi, request);
    times.gb_per_s = side.gb_per_s(request.large_rounds);
    times.both_gb_per_s = side.both_gb_per_s(request.large_rounds);
    times.latency_us = side.latency_us(request.rounds);
    times.messages_per_s = side.messages_per_s(request.rounds);
  });
  return shared(worker, times, from);
}

}  // namespace tandem
