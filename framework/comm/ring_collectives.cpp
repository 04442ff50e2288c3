#include "comm/ring_collectives.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace tandem {
namespace {

// What is added right after it arrived should still be in the processor's cache.
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;

using Bytes = std::span<std::byte>;

std::size_t chunks_in(std::size_t bytes) {
  return (bytes + kChunkBytes - 1) / kChunkBytes;
}

Bytes chunk_of(Bytes bytes, std::size_t index) {
  const auto begin = std::min(index * kChunkBytes, bytes.size());
  return bytes.subspan(begin, std::min(kChunkBytes, bytes.size() - begin));
}

template <class T>
void add(Bytes into, std::span<const std::byte> from) {
  auto* sum = reinterpret_cast<T*>(into.data());
  const auto* term = reinterpret_cast<const T*>(from.data());
  const auto count = into.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
}

void add(DType dtype, Bytes into, std::span<const std::byte> from) {
  TANDEM_EXPECT(dtype == DType::F32 || dtype == DType::I32, "no sums over {}", name_of(dtype));
  if (dtype == DType::F32) {
    add<float>(into, from);
  } else {
    add<std::int32_t>(into, from);
  }
}

// A tensor as seen by one rank of the ring.
class Ring {
 public:
  Ring(const MpiCalls& mpi, const TensorView& tensor)
      : mpi_(mpi), tensor_(tensor), ranks_(mpi.world_size()), scratch_(kChunkBytes) {}

  void reduce_scatter() {
    for (int s = 0; s < ranks_ - 1; ++s) {
      const auto outgoing = piece(mpi_.rank() - s - 1);
      const auto incoming = piece(mpi_.rank() - s - 2);
      for (std::size_t c = 0; c < std::max(chunks_in(outgoing.size()), chunks_in(incoming.size())); ++c) {
        const auto into = chunk_of(incoming, c);
        const auto arrived = Bytes(scratch_).first(into.size());
        mpi_.exchange(chunk_of(outgoing, c), right(), arrived, left());
        add(tensor_.dtype(), into, arrived);
      }
    }
  }

  void all_gather() {
    for (int s = 0; s < ranks_ - 1; ++s) {
      const auto outgoing = piece(mpi_.rank() - s);
      const auto incoming = piece(mpi_.rank() - s - 1);
      for (std::size_t c = 0; c < std::max(chunks_in(outgoing.size()), chunks_in(incoming.size())); ++c) {
        mpi_.exchange(chunk_of(outgoing, c), right(), chunk_of(incoming, c), left());
      }
    }
  }

  // A pipeline: while chunk c goes on to the right, chunk c+1 comes in from the left.
  void broadcast(int root) {
    const Bytes all(static_cast<std::byte*>(tensor_.raw()),
                    static_cast<std::size_t>(tensor_.bytes().value()));
    const bool receives = mpi_.rank() != root;
    const bool sends = right() != root;
    const auto chunks = chunks_in(all.size());
    for (std::size_t c = 0; c <= chunks; ++c) {
      const auto incoming = receives && c < chunks ? chunk_of(all, c) : Bytes();
      const auto outgoing = sends && c > 0 ? chunk_of(all, c - 1) : Bytes();
      mpi_.exchange(outgoing, right(), incoming, left());
    }
  }

 private:
  int right() const { return (mpi_.rank() + 1) % ranks_; }
  int left() const { return (mpi_.rank() + ranks_ - 1) % ranks_; }

  // Piece `index` modulo n.
  Bytes piece(int index) const {
    const std::int64_t p = ((index % ranks_) + ranks_) % ranks_;
    const auto elements = tensor_.elements().value();
    const auto begin = p * elements / ranks_;
    const auto end = (p + 1) * elements / ranks_;
    const auto element_bytes = bytes_per_element(tensor_.dtype());
    return {static_cast<std::byte*>(tensor_.raw()) + begin * element_bytes,
            static_cast<std::size_t>((end - begin) * element_bytes)};
  }

  const MpiCalls& mpi_;
  const TensorView tensor_;
  const int ranks_;
  std::vector<std::byte> scratch_;
};

class RingCollectives final : public HostCollectives {
 public:
  void all_reduce_sum(const MpiCalls& mpi, TensorView inout) const override {
    Ring ring(mpi, inout);
    ring.reduce_scatter();
    ring.all_gather();
  }
  void reduce_scatter_sum(const MpiCalls& mpi, TensorView all) const override {
    Ring(mpi, all).reduce_scatter();
  }
  void all_gather(const MpiCalls& mpi, TensorView all) const override { Ring(mpi, all).all_gather(); }
  void broadcast(const MpiCalls& mpi, TensorView inout, Rank root) const override {
    Ring(mpi, inout).broadcast(root.value);
  }
  std::string description() const override { return "ring over mpi"; }
};

}  // namespace

std::unique_ptr<HostCollectives> make_ring_collectives() {
  return std::make_unique<RingCollectives>();
}

}  // namespace tandem
