#include "comm/mpi_collectives.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tandem {
namespace {

MPI_Datatype mpi_type(DType dtype) {
  TANDEM_EXPECT(dtype == DType::F32 || dtype == DType::I32, "no sums over {}", name_of(dtype));
  return dtype == DType::F32 ? MPI_FLOAT : MPI_INT32_T;
}

// Calls visit(offset, count) for consecutive chunks of at most `most` that cover [0, total).
template <class Visit>
void for_each_chunk(std::int64_t total, std::int64_t most, const Visit& visit) {
  for (std::int64_t offset = 0; offset < total; offset += most) {
    visit(offset, static_cast<int>(std::min(most, total - offset)));
  }
}

// Requests in flight. Bounded, because a look at MPI costs time in proportion to their number.
class Flight {
 public:
  explicit Flight(const MpiCalls& mpi) : mpi_(mpi) {}

  // Where the next operation puts its request; waits for those in flight first if there are many.
  MPI_Request* next() {
    if (requests_.size() == kMostInFlight) land();
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }
  void land() {
    mpi_.wait(requests_);
    requests_.clear();
  }

 private:
  static constexpr std::size_t kMostInFlight = 64;

  const MpiCalls& mpi_;
  std::vector<MPI_Request> requests_;
};

class MpiCollectives final : public HostCollectives {
 public:
  explicit MpiCollectives(ElementCount elements_per_call) : elements_per_call_(elements_per_call.value()) {
    TANDEM_EXPECT(elements_per_call_ > 0 && elements_per_call_ <= (std::int64_t{1} << 28),
                  "{} elements in one MPI call: an int must hold four times as many bytes",
                  elements_per_call_);
  }

  void all_reduce_sum(const MpiCalls& mpi, TensorView inout) const override {
    const auto type = mpi_type(inout.dtype());
    auto* memory = static_cast<std::byte*>(inout.raw());
    Flight flight(mpi);
    for_each_chunk(inout.elements().value(), elements_per_call_, [&](std::int64_t offset, int count) {
      TANDEM_MPI(MPI_Iallreduce(MPI_IN_PLACE, memory + offset * bytes_per_element(inout.dtype()), count, type,
                                MPI_SUM, mpi.world(), flight.next()));
    });
    flight.land();
  }

  // MPI wants the pieces of a call back to back, and chunks of pieces are not; so one column of chunks at a
  // time is copied together. MPI_Ireduce to each owner would need no copy but runs in 16 KB rounds: ten times
  // slower.
  void reduce_scatter_sum(const MpiCalls& mpi, TensorView all) const override {
    const auto type = mpi_type(all.dtype());
    const auto element_bytes = bytes_per_element(all.dtype());
    const std::int64_t ranks = mpi.world_size();
    const auto piece = all.elements().value() / ranks;
    const auto width = std::min(piece, std::max<std::int64_t>(1, 4 * elements_per_call_ / ranks));
    auto* memory = static_cast<std::byte*>(all.raw());
    std::vector<std::byte> column(static_cast<std::size_t>(ranks * width * element_bytes));
    for_each_chunk(piece, std::max<std::int64_t>(width, 1), [&](std::int64_t offset, int count) {
      const auto chunk_bytes = static_cast<std::size_t>(count * element_bytes);
      for (std::int64_t r = 0; r < ranks; ++r) {
        std::memcpy(column.data() + static_cast<std::size_t>(r) * chunk_bytes,
                    memory + (r * piece + offset) * element_bytes, chunk_bytes);
      }
      MPI_Request request = MPI_REQUEST_NULL;
      TANDEM_MPI(MPI_Ireduce_scatter_block(MPI_IN_PLACE, column.data(), count, type, MPI_SUM, mpi.world(),
                                           &request));
      mpi.wait({&request, 1});
      std::memcpy(memory + (mpi.rank() * piece + offset) * element_bytes, column.data(), chunk_bytes);
    });
  }

  // Each owner broadcasts its piece: as many bytes as MPI_Iallgather, and any piece can be cut into chunks.
  void all_gather(const MpiCalls& mpi, TensorView all) const override {
    const auto piece_bytes = all.bytes().value() / mpi.world_size();
    Flight flight(mpi);
    for (int owner = 0; owner < mpi.world_size(); ++owner) {
      broadcast_bytes(mpi, static_cast<std::byte*>(all.raw()) + owner * piece_bytes, piece_bytes, owner,
                      flight);
    }
    flight.land();
  }

  void broadcast(const MpiCalls& mpi, TensorView inout, Rank root) const override {
    Flight flight(mpi);
    broadcast_bytes(mpi, static_cast<std::byte*>(inout.raw()), inout.bytes().value(), root.value, flight);
    flight.land();
  }

  std::string description() const override { return "mpi"; }

 private:
  void broadcast_bytes(const MpiCalls& mpi, std::byte* memory, std::int64_t bytes, int root,
                       Flight& flight) const {
    for_each_chunk(bytes, 4 * elements_per_call_, [&](std::int64_t offset, int count) {
      TANDEM_MPI(MPI_Ibcast(memory + offset, count, MPI_BYTE, root, mpi.world(), flight.next()));
    });
  }

  const std::int64_t elements_per_call_;
};

}  // namespace

std::unique_ptr<HostCollectives> make_mpi_collectives(ElementCount elements_per_call) {
  return std::make_unique<MpiCollectives>(elements_per_call);
}

}  // namespace tandem
