#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/host_communicator.h"
#include "comm/mpi_collectives.h"
#include "comm/mpi_rank_group.h"
#include "comm/mpi_worker.h"
#include "comm/paced_communicator.h"
#include "comm/ring_collectives.h"
#include "core/error.h"
#include "device/cpu/cpu_stream.h"
#include "support/rank_test.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  std::unique_ptr<HostCollectives> (*make)();
};
void PrintTo(const Case& tested, std::ostream* out) {
  *out << tested.name;
}

std::unique_ptr<HostCollectives> mpi() {
  return make_mpi_collectives();
}
std::unique_ptr<HostCollectives> mpi_in_small_chunks() {
  return make_mpi_collectives(ElementCount(251));
}

// Counts around 1, the world sizes, and the chunks that algorithms cut.
const std::vector<std::int64_t> kCounts{0, 1, 2, 3, 5, 7, 1000, 1001, 65537, 300007};

class Collectives : public ::testing::TestWithParam<Case> {
 protected:
  Collectives()
      : recorder_(rank_test_session().identity()),
        watchdog_(recorder_, rank_test_options().watchdog),
        worker_(rank_test_session().world(), recorder_),
        communicator_(make_host_communicator(worker_, GetParam().make())) {}

  int rank() const { return worker_.identity().rank.value; }
  int ranks() const { return worker_.identity().world_size; }

  template <class T>
  static TensorView view(std::vector<T>& values) {
    return {values.data(), dtype_of<T>(), Shape{static_cast<std::int64_t>(values.size())}};
  }
  // An integer that differs by rank and element and whose sums are exact in f32.
  static int value(int rank, std::size_t i) {
    return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50;
  }
  int sum(std::size_t i) const {
    int total = 0;
    for (int r = 0; r < ranks(); ++r) total += value(r, i);
    return total;
  }
  template <class T>
  std::vector<T> values(std::size_t count) const {
    std::vector<T> filled(count);
    for (std::size_t i = 0; i < count; ++i) filled[i] = static_cast<T>(value(rank(), i));
    return filled;
  }

  FlightRecorder recorder_;
  Watchdog watchdog_;
  MpiWorker worker_;
  std::unique_ptr<Communicator> communicator_;
  CpuStream stream_;
};

template <class T>
void expect_values(const std::vector<T>& found, std::size_t begin, std::size_t end, const auto& expected) {
  for (std::size_t i = begin; i < end; ++i) {
    ASSERT_EQ(found[i], static_cast<T>(expected(i))) << "element " << i << " of " << found.size();
  }
}

TEST_P(Collectives, AllReduceSumsExactly) {
  for (const auto count : kCounts) {
    auto floats = values<float>(static_cast<std::size_t>(count));
    auto integers = values<std::int32_t>(static_cast<std::size_t>(count));
    communicator_->all_reduce_sum(view(floats), stream_);
    communicator_->all_reduce_sum(view(integers), stream_);
    stream_.synchronize();
    expect_values(floats, 0, floats.size(), [&](std::size_t i) { return sum(i); });
    expect_values(integers, 0, integers.size(), [&](std::size_t i) { return sum(i); });
  }
}

TEST_P(Collectives, ReduceScatterLeavesEachRankItsPiece) {
  for (const auto piece : kCounts) {
    auto all = values<float>(static_cast<std::size_t>(piece * ranks()));
    communicator_->reduce_scatter_sum(view(all), stream_);
    stream_.synchronize();
    const auto begin = static_cast<std::size_t>(piece * rank());
    expect_values(all, begin, begin + static_cast<std::size_t>(piece), [&](std::size_t i) { return sum(i); });
  }
}

TEST_P(Collectives, AllGatherCollectsEveryPiece) {
  for (const auto piece : kCounts) {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(piece * ranks()), 255);
    const auto expected = [](std::size_t i) { return static_cast<std::uint8_t>(i % 199); };
    for (std::int64_t i = piece * rank(); i < piece * (rank() + 1); ++i) {
      all[static_cast<std::size_t>(i)] = expected(static_cast<std::size_t>(i));
    }
    communicator_->all_gather(view(all), stream_);
    stream_.synchronize();
    expect_values(all, 0, all.size(), expected);
  }
}

TEST_P(Collectives, BroadcastComesFromAnyRoot) {
  for (const auto count : kCounts) {
    for (int root = 0; root < ranks(); ++root) {
      auto values_of_rank = values<std::int32_t>(static_cast<std::size_t>(count));
      communicator_->broadcast(view(values_of_rank), Rank{root}, stream_);
      stream_.synchronize();
      expect_values(values_of_rank, 0, values_of_rank.size(), [&](std::size_t i) { return value(root, i); });
    }
  }
}

// Rounding happens on every addition of these, so an order that differs between ranks would show.
TEST_P(Collectives, AllRanksGetTheSameBits) {
  for (const std::size_t count : {1u, 1001u, 300007u}) {
    std::mt19937 generator(static_cast<unsigned>(rank()) + 1u);
    std::uniform_real_distribution<float> exponent(-20.0f, 20.0f);
    std::vector<float> summed(count);
    for (auto& x : summed) x = std::exp2(exponent(generator)) * (generator() % 2 == 0 ? 1.0f : -1.0f);
    communicator_->all_reduce_sum(view(summed), stream_);
    stream_.synchronize();
    auto of_rank_0 = summed;
    communicator_->broadcast(view(of_rank_0), Rank{0}, stream_);
    stream_.synchronize();
    EXPECT_EQ(std::memcmp(summed.data(), of_rank_0.data(), count * sizeof(float)), 0) << "rank " << rank();
  }
}

// Rank 0 reaches its collectives on two streams in the opposite order to all others.
TEST_P(Collectives, RunInTheOrderOfTheCallsWhicheverStreamIsFirst) {
  CpuStream other;
  auto first = values<float>(1000);
  auto second = values<float>(1001);
  CpuStream& delayed = rank() == 0 ? stream_ : other;
  delayed.enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  communicator_->all_reduce_sum(view(first), stream_);
  communicator_->all_reduce_sum(view(second), other);
  stream_.synchronize();
  other.synchronize();
  expect_values(first, 0, first.size(), [&](std::size_t i) { return sum(i); });
  expect_values(second, 0, second.size(), [&](std::size_t i) { return sum(i); });
}

TEST_P(Collectives, AreRecordedWithLabelBytesAndTimes) {
  std::vector<float> values_of_rank(10);
  communicator_->label_next("bucket 3");
  communicator_->all_reduce_sum(view(values_of_rank), stream_);
  communicator_->broadcast(view(values_of_rank), Rank{0}, stream_);
  stream_.synchronize();
  const auto records = recorder_.records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].label, "bucket 3");
  EXPECT_EQ(records[0].kind, CollectiveKind::AllReduce);
  EXPECT_EQ(records[0].bytes, ByteCount(40));
  ASSERT_TRUE(records[0].started && records[0].finished);
  EXPECT_LE(records[0].enqueued, *records[0].started);
  EXPECT_LE(*records[0].started, *records[0].finished);
  EXPECT_EQ(records[1].label, "");
  EXPECT_EQ(records[1].sequence, 2u);
}

TEST_P(Collectives, RefuseWhatTheyCannotDo) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(ranks()));
  std::vector<float> uneven(static_cast<std::size_t>(ranks() + 1));
  EXPECT_THROW(communicator_->all_reduce_sum(view(bytes), stream_), Error);
  EXPECT_THROW(communicator_->reduce_scatter_sum(view(bytes), stream_), Error);
  EXPECT_THROW(communicator_->broadcast(view(uneven), Rank{ranks()}, stream_), Error);
  EXPECT_THROW(communicator_->broadcast(view(uneven), Rank{-1}, stream_), Error);
  if (ranks() > 1) {
    EXPECT_THROW(communicator_->reduce_scatter_sum(view(uneven), stream_), Error);
    EXPECT_THROW(communicator_->all_gather(view(uneven), stream_), Error);
  }
  EXPECT_TRUE(recorder_.records().empty());
}

// A rank that leaves one collective out may not go on to the next: it would be matched with the wrong one.
TEST_P(Collectives, AFailedStreamFailsTheCommunicator) {
  std::vector<float> values_of_rank(10);
  stream_.enqueue([] { throw Error("test", "work", "boom"); });
  communicator_->all_reduce_sum(view(values_of_rank), stream_);
  EXPECT_THROW(stream_.synchronize(), Error);
  CpuStream healthy;
  communicator_->all_reduce_sum(view(values_of_rank), healthy);
  try {
    healthy.synchronize();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("collective #1 was dropped"));
  }
  EXPECT_THROW(communicator_->throw_if_failed(), Error);
}

TEST_P(Collectives, PacedCollectivesTakeAtLeastTheModelsTimeAndKeepTheirResults) {
  const LinkModel link{.latency_us = 5000.0, .bus_gbit_per_s = 0.01};
  const auto inner = communicator_->description();
  const auto paced = make_paced_communicator(std::move(communicator_), link);
  EXPECT_EQ(paced->description(), inner + ", paced to 0.01 Gbit/s, 5000 us");
  auto summed = values<float>(1001);
  paced->label_next("bucket 0");
  const auto begin = std::chrono::steady_clock::now();
  paced->all_reduce_sum(view(summed), stream_);
  stream_.synchronize();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, modelled_time(link, CollectiveKind::AllReduce, view(summed).bytes(), ranks()));
  expect_values(summed, 0, summed.size(), [&](std::size_t i) { return sum(i); });
  ASSERT_EQ(recorder_.records().size(), 2u);
  EXPECT_EQ(recorder_.records()[0].label, "bucket 0, arrival");
  EXPECT_EQ(recorder_.records()[1].label, "bucket 0");
}

// The model's clock starts with the last rank. Ranks of a test share a host, hence the steady clock.
TEST_P(Collectives, PacingStartsWhenTheLastRankHasCome) {
  const LinkModel link{.latency_us = 30000.0, .bus_gbit_per_s = 1.0};
  const auto paced = make_paced_communicator(std::move(communicator_), link);
  std::vector<std::uint8_t> late_arrival(sizeof(std::int64_t));
  if (rank() == 0) {
    stream_.enqueue([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
      std::memcpy(late_arrival.data(), &now, sizeof(now));
    });
  }
  std::vector<float> one{1.0f};
  paced->all_reduce_sum(view(one), stream_);
  stream_.synchronize();
  const auto end = std::chrono::steady_clock::now();
  paced->broadcast(view(late_arrival), Rank{0}, stream_);
  stream_.synchronize();
  std::int64_t arrival = 0;
  std::memcpy(&arrival, late_arrival.data(), sizeof(arrival));
  EXPECT_GE(end.time_since_epoch() - std::chrono::steady_clock::duration(arrival),
            modelled_time(link, CollectiveKind::AllReduce, view(one).bytes(), ranks()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Collectives,
                         ::testing::Values(Case{"Mpi", mpi}, Case{"MpiInSmallChunks", mpi_in_small_chunks},
                                           Case{"Ring", make_ring_collectives}),
                         [](const auto& instance) { return instance.param.name; });

// The steps of a long run have more bytes than one MPI call counts.
TEST(MpiRankGroup, GathersTextsOfAnyLengthInSeveralCalls) {
  const auto& session = rank_test_session();
  FlightRecorder recorder(session.identity());
  MpiWorker worker(session.world(), recorder);
  for (const std::int64_t bytes_per_call : {1, 7, 16, 1000}) {
    const auto group = make_mpi_rank_group(worker, ByteCount(bytes_per_call));
    const auto text_of = [](int rank) {
      return std::string(static_cast<std::size_t>(5 * rank), static_cast<char>('a' + rank));
    };
    const auto texts = group->all_gather(text_of(group->rank().value));
    ASSERT_EQ(texts.size(), static_cast<std::size_t>(group->world_size()));
    for (int rank = 0; rank < group->world_size(); ++rank)
      EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of(rank)) << bytes_per_call;
  }
}

}  // namespace
}  // namespace tandem
