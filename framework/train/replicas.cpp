#include "train/replicas.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"

namespace tandem {
namespace {

std::vector<float> download(TensorView from, Device& device, Stream& stream) {
  const Buffer staging(device.pinned_memory(), from.bytes());
  stream.copy(staging.data(), from.raw(), from.bytes());
  stream.synchronize();
  const auto* values = static_cast<const float*>(staging.data());
  return {values, values + from.elements().value()};
}

void upload(const std::vector<float>& values, TensorView to, Device& device, Stream& stream) {
  const Buffer staging(device.pinned_memory(), to.bytes());
  std::ranges::copy(values, static_cast<float*>(staging.data()));
  stream.copy(to.raw(), staging.data(), to.bytes());
  stream.synchronize();
}

}  // namespace

void broadcast_parameters(ParameterStore& store, Communicator& communicator, Elementwise& elementwise,
                          Stream& stream) {
  const auto masters = store.masters(store.everything());
  communicator.broadcast(masters, Rank{0}, stream);
  if (const auto buffers = store.all_buffers(); !buffers.empty())
    communicator.broadcast(buffers, Rank{0}, stream);
  if (const auto working = store.working(store.everything()); !working.empty()) {
    elementwise.cast(stream, masters, working);
  }
  stream.synchronize();
}

void average_buffers(ParameterStore& store, Device& device, RankGroup& group, Stream& stream) {
  const auto buffers = store.all_buffers();
  if (buffers.empty() || group.world_size() == 1) return;
  auto values = download(buffers, device, stream);
  const std::vector<double> mine(values.begin(), values.end());
  const auto sums = group.sum(mine);
  std::ranges::transform(sums, values.begin(),
                         [&](double sum) { return static_cast<float>(sum / group.world_size()); });
  upload(values, buffers, device, stream);
}

// Piece by piece: a large model's parameters need not fit into the host's memory at once, let alone pinned.
// The next piece is on its way while one is hashed.
std::uint64_t parameter_hash(const ParameterStore& store, Device& device, Stream& stream) {
  constexpr std::int64_t kPiece = 16 << 20;
  const auto all = store.masters(store.everything());
  const auto bytes = all.bytes().value();
  const auto* from = static_cast<const char*>(all.raw());
  const auto piece = std::min(kPiece, bytes);
  const Buffer staging[] = {Buffer(device.pinned_memory(), ByteCount(piece)),
                            Buffer(device.pinned_memory(), ByteCount(piece))};
  const auto length = [&](std::int64_t first) { return std::min(piece, bytes - first); };
  const auto request = [&](std::int64_t first) {
    if (first < bytes) stream.copy(staging[first / piece % 2].data(), from + first, ByteCount(length(first)));
  };
  ContentHash hash;
  request(0);
  for (std::int64_t first = 0; first < bytes; first += piece) {
    stream.synchronize();
    request(first + piece);
    hash.add({static_cast<const char*>(staging[first / piece % 2].data()),
              static_cast<std::size_t>(length(first))});
  }
  return hash.value();
}

std::uint64_t expect_equal_replicas(const ParameterStore& store, Device& device, RankGroup& group,
                                    Stream& stream) {
  const auto hash = parameter_hash(store, device, stream);
  const auto hashes = group.all_gather(fmt::format("{:016x}", hash));
  std::string different;
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) different += fmt::format(" {}", rank);
  }
  TANDEM_EXPECT(different.empty(), "the parameters of rank{} differ from those of rank 0", different);
  return hash;
}

}  // namespace tandem
