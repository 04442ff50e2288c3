#include "probe/link_measurement.h"

#include <gtest/gtest.h>

#include "comm/mpi_pair_times.h"
#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "support/rank_test.h"

namespace tandem {
namespace {

// Adds one to an element of every all-reduce, as a link that loses bits would.
class WrongCommunicator final : public Communicator {
 public:
  explicit WrongCommunicator(Communicator& inner) : inner_(inner) {}

  Rank rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  void all_reduce_sum(TensorView inout, Stream& stream) override {
    inner_.all_reduce_sum(inout, stream);
    inner_.all_reduce_sum(TensorView(inout.raw(), inout.dtype(), {1}),
                          stream);  // the first element once more
  }
  void reduce_scatter_sum(TensorView all, Stream& stream) override { inner_.reduce_scatter_sum(all, stream); }
  void all_gather(TensorView all, Stream& stream) override { inner_.all_gather(all, stream); }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    inner_.broadcast(inout, root, stream);
  }
  void throw_if_failed() override { inner_.throw_if_failed(); }
  std::string description() const override { return "wrong"; }

 private:
  Communicator& inner_;
};

BenchRun measured(Comm& comm, Communicator& communicator) {
  CpuDevice device;
  BenchRun run;
  measure_collectives(
      {.device = device, .communicator = communicator, .ranks = comm.ranks(), .memory = device.memory()},
      {.max_bytes = 4096, .factor = 8, .seconds_per_point = 0.001}, run);
  return run;
}

TEST(LinkMeasurement, EveryResultIsRight) {
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
  const auto run = measured(*comm, comm->communicator());
  const int ranks = comm->ranks().world_size();
  EXPECT_EQ(run.points.front().collective, "all_reduce");
  EXPECT_EQ(run.points.front().bytes, 8);
  EXPECT_EQ(run.points.back().collective, "all_gather");
  for (const auto& point : run.points) {
    EXPECT_EQ(point.wrong, 0) << point.collective << " of " << point.bytes;
    EXPECT_GE(point.iterations, 3);
    EXPECT_GT(point.time_us, 0);
    const bool in_pieces = point.collective != "all_reduce";
    EXPECT_EQ(in_pieces ? point.bytes % (4 * ranks) : 0, 0) << point.bytes;
  }
  EXPECT_GT(run.latency_us, 0);
  EXPECT_GT(run.rate_per_s, 0);
}

TEST(LinkMeasurement, WrongElementsAreCountedOnAllRanks) {
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
  WrongCommunicator wrong(comm->communicator());
  for (const auto& point : measured(*comm, wrong).points)
    EXPECT_EQ(point.wrong, point.collective == "all_reduce" ? comm->ranks().world_size() : 0) << point.bytes;
}

TEST(PairTimes, EveryRankLearnsThem) {
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
  const int last = comm->ranks().world_size() - 1;
  const auto times = measure_pair(
      *comm->worker(),
      {.from = Rank{last}, .to = Rank{0}, .large = ByteCount(1 << 16), .rounds = 8, .large_rounds = 2});
  for (const double number : {times.latency_us, times.gb_per_s, times.both_gb_per_s, times.messages_per_s}) {
    EXPECT_GT(number, 0);
    for (const auto& text : comm->ranks().all_gather(fmt::format("{}", number)))
      EXPECT_EQ(text, fmt::format("{}", number));
  }
}

TEST(PairTimes, RefusesWhatIsNoPair) {
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
  EXPECT_THROW(measure_pair(*comm->worker(), {.from = Rank{0}, .to = Rank{0}}), Error);
  EXPECT_THROW(measure_pair(*comm->worker(), {.from = Rank{0}, .to = Rank{99}}), Error);
}

}  // namespace
}  // namespace tandem
