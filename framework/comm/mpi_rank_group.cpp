#include "comm/mpi_rank_group.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace tandem {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<int>::max();

std::vector<std::int64_t> gather_lengths(const MpiCalls& mpi, std::size_t mine) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(mpi.world_size()));
  const auto length = static_cast<std::int64_t>(mine);
  MPI_Request request = MPI_REQUEST_NULL;
  TANDEM_MPI(MPI_Iallgather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, mpi.world(), &request));
  mpi.wait({&request, 1});
  return lengths;
}

// MPI counts in ints, and the timings of a long run on many ranks have more bytes than an int: each call
// moves `most` bytes in all, and there are as many calls as the longest text needs.
std::vector<std::string> gather_texts(const MpiCalls& mpi, const std::string& text, std::int64_t most) {
  const auto lengths = gather_lengths(mpi, text.size());
  const auto longest = *std::ranges::max_element(lengths);
  const auto part = std::max<std::int64_t>(1, most / mpi.world_size());
  std::vector<std::string> texts(lengths.size());
  for (std::int64_t begin = 0; begin < longest; begin += part) {
    std::vector<int> counts;
    for (const auto length : lengths)
      counts.push_back(static_cast<int>(std::clamp<std::int64_t>(length - begin, 0, part)));
    std::vector<int> offsets(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    std::string joined(static_cast<std::size_t>(offsets.back() + counts.back()), '\0');
    const auto mine = counts[static_cast<std::size_t>(mpi.rank())];
    const auto* from = mine == 0 ? text.data() : text.data() + begin;
    MPI_Request request = MPI_REQUEST_NULL;
    TANDEM_MPI(MPI_Iallgatherv(from, mine, MPI_BYTE, joined.data(), counts.data(), offsets.data(), MPI_BYTE,
                               mpi.world(), &request));
    mpi.wait({&request, 1});
    for (std::size_t r = 0; r < texts.size(); ++r) {
      texts[r].append(joined, static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(counts[r]));
    }
  }
  return texts;
}

std::string broadcast_text(const MpiCalls& mpi, const std::string& text, int root) {
  std::string result = mpi.rank() == root ? text : std::string();
  // The lengths of all ranks are gathered although only the root's is needed: a text too long for one call is
  // then seen, and thrown, by all ranks.
  const auto length = gather_lengths(mpi, result.size())[static_cast<std::size_t>(root)];
  TANDEM_EXPECT(length <= kMost, "a text of {} bytes; {} can be broadcast", length, kMost);
  result.resize(static_cast<std::size_t>(length));
  MPI_Request request = MPI_REQUEST_NULL;
  TANDEM_MPI(MPI_Ibcast(result.data(), static_cast<int>(length), MPI_BYTE, root, mpi.world(), &request));
  mpi.wait({&request, 1});
  return result;
}

// Gathers and then adds on each rank, so that the order of the sum does not depend on the MPI library.
std::vector<double> sum_in_rank_order(const MpiCalls& mpi, std::span<const double> values) {
  const auto lengths = gather_lengths(mpi, values.size());
  for (const auto length : lengths) {
    TANDEM_EXPECT(length == lengths.front(), "ranks sum {} and {} values: they must agree", lengths.front(),
                  length);
  }
  std::vector<double> all(values.size() * lengths.size());
  const auto count = static_cast<int>(values.size());
  MPI_Request request = MPI_REQUEST_NULL;
  TANDEM_MPI(
      MPI_Iallgather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, mpi.world(), &request));
  mpi.wait({&request, 1});
  std::vector<double> sums(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % values.size()] += all[i];
  return sums;
}

class MpiRankGroup final : public RankGroup {
 public:
  MpiRankGroup(MpiWorker& worker, std::int64_t bytes_per_call)
      : worker_(worker), bytes_per_call_(bytes_per_call) {}

  Rank rank() const override { return worker_.identity().rank; }
  int world_size() const override { return worker_.identity().world_size; }
  std::string host() const override { return worker_.identity().host; }

  void barrier() override {
    run("barrier", 0, [](const MpiCalls& mpi) {
      MPI_Request request = MPI_REQUEST_NULL;
      TANDEM_MPI(MPI_Ibarrier(mpi.world(), &request));
      mpi.wait({&request, 1});
    });
  }

  std::vector<std::string> all_gather(const std::string& text) override {
    std::vector<std::string> texts;
    run("all_gather", text.size(),
        [&](const MpiCalls& mpi) { texts = gather_texts(mpi, text, bytes_per_call_); });
    return texts;
  }

  std::string broadcast(const std::string& text, Rank root) override {
    TANDEM_EXPECT(root.value >= 0 && root.value < world_size(), "rank {} does not exist in a job of {} ranks",
                  root.value, world_size());
    std::string result;
    run("broadcast", text.size(),
        [&](const MpiCalls& mpi) { result = broadcast_text(mpi, text, root.value); });
    return result;
  }

  std::vector<double> sum(std::span<const double> values) override {
    std::vector<double> sums;
    run("sum", values.size_bytes(), [&](const MpiCalls& mpi) { sums = sum_in_rank_order(mpi, values); });
    return sums;
  }

 private:
  void run(const char* label, std::size_t bytes, const MpiWorker::Job& job) {
    const ByteCount count(static_cast<std::int64_t>(bytes));
    worker_.reserve(CollectiveKind::HostExchange, label, count)->run(job);
  }

  MpiWorker& worker_;
  const std::int64_t bytes_per_call_;
};

}  // namespace

std::unique_ptr<RankGroup> make_mpi_rank_group(MpiWorker& worker, ByteCount bytes_per_call) {
  return std::make_unique<MpiRankGroup>(worker, bytes_per_call.value());
}

}  // namespace tandem
