// The meter against the clock: training whose parts are of known length, on real streams.
//
//   ./meter_bench                    exposed time against the simulation of two streams; a rank that is late,
//                                    with ranks as threads
//   mpirun -np 2 ./meter_bench       a rank that is late, over a real, paced all-reduce
//   ./meter_bench cuda               exposed time with kernels that spin on one GPU
//   ./meter_bench metrics            what a line of metrics.jsonl costs: one line of JSON with microseconds
//   per
//                                    step, which meter.py sets beside the step of a run
//
// Rank 0 prints one line of JSON per number: what was expected, what was measured, and how far it may be off.
// tests/train/meter_test.cpp proves the same in virtual time, exactly; here nothing is virtual.
#include <fmt/format.h>

#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "comm/comm_setup.h"
#include "comm/link.h"
#include "comm/mpi_session.h"
#include "comm/single.h"
#include "report/metrics_file.h"
#include "report/run_summary.h"
#include "support/thread_ranks.h"
#include "train/simulated_step.h"
#include "train/timed_training.h"
#ifdef TANDEM_SPIN_KERNEL
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "meter/spin_kernel.h"
#endif

namespace tandem {
namespace {

constexpr int kWarmup = 3;
constexpr int kSteps = 30;

// Stands for two ranks: its all-reduces are sleeps on the communication stream.
class SleepingWire final : public Communicator {
 public:
  explicit SleepingWire(const TimedNetwork& network) : network_(network) {}

  Rank rank() const override { return {}; }
  int world_size() const override { return 2; }
  void all_reduce_sum(TensorView, Stream& stream) override {
    network_.spend(stream, network_.all_reduce_ms[calls_++ % network_.all_reduce_ms.size()]);
  }
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank, Stream&) override {}
  void throw_if_failed() override {}
  std::string description() const override { return "sleeping"; }

 private:
  const TimedNetwork& network_;
  std::size_t calls_ = 0;
};

RunRecord train(const TimedNetwork& network, const TimedRun& run, const TimedSite& site) {
  JobOptions options;
  options.total_steps = kWarmup + kSteps;
  options.warmup_steps = kWarmup;
  options.schedule = run.schedule;
  options.trainer.update_order = run.update_order;
  return TimedJob(network, site, options, run.micro_steps).run();
}

// --- What is printed ---------------------------------------------------------------------------------------

struct Check {
  std::string proof;
  std::string quantity;
  std::optional<double> expected;
  std::optional<double> measured;
  double tolerance = 0.0;  // of the difference, in the quantity's unit
};

nlohmann::json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

void print(const Check& check) {
  const bool holds = check.expected && check.measured
                         ? std::abs(*check.measured - *check.expected) <= check.tolerance
                         : !check.expected && !check.measured;
  const nlohmann::ordered_json line = {{"proof", check.proof},
                                       {"quantity", check.quantity},
                                       {"expected", number_or_null(check.expected)},
                                       {"measured", number_or_null(check.measured)},
                                       {"tolerance", check.tolerance},
                                       {"holds", holds}};
  fmt::print("{}\n", line.dump());
}

double median_ms(const RunRecord& record, std::size_t rank, Samples RankTimingRecord::*quantity) {
  const auto& all = record.timing[rank].*quantity;
  return statistics_of(Samples(all.begin() + kWarmup, all.end()))->median;
}

// --- Proofs ------------------------------------------------------------------------------------------------

// Backward of 4 x 12 ms; three all-reduces that hide in part and one that nothing hides.
TimedNetwork four_layers(const Spend& spend = spend_on_host) {
  return {.layers = {{6.0, 6.0, 6.0}, {6.0, 6.0, 6.0}, {6.0, 6.0, 6.0}, {6.0, 6.0, 6.0}},
          .loss_ms = 2.0,
          .update_ms = {3.0, 3.0, 3.0, 3.0},
          .all_reduce_ms = {20.0, 16.0, 12.0, 10.0},
          .spend = spend};
}

void prove_exposed_time(Device& device, const Spend& spend) {
  constexpr double kShare = 0.05;
  auto slow_wire = four_layers(spend);
  slow_wire.all_reduce_ms = {30.0, 25.0, 20.0, 15.0};
  auto long_update = four_layers(spend);
  long_update.all_reduce_ms[3] = 30.0;
  long_update.update_ms = {3.0, 20.0, 3.0, 3.0};  // between two waits
  const auto group = make_single_rank_group();
  const auto check = [&](const std::string& name, const TimedNetwork& network, const TimedRun& run) {
    SleepingWire wire(network);
    const auto record = train(network, run, {device, wire, *group});
    const auto expected = simulate(network, run);
    const auto add = [&](const char* quantity, double ms, Samples RankTimingRecord::*samples) {
      print({"simulation: " + name, quantity, ms, median_ms(record, 0, samples), kShare * ms});
    };
    add("exposed ms", expected.exposed, &RankTimingRecord::exposed_ms);
    add("busy ms", expected.busy, &RankTimingRecord::comm_busy_ms);
    add("step ms", expected.step, &RankTimingRecord::step_ms);
    if (run.schedule != Schedule::After) return;
    const auto summary = summarize(record);
    print({"no overlap: " + name, "overlap ratio", 0.0, summary.overlap_ratio, 0.03});
    print({"no overlap: " + name, "exposed / busy", 1.0, *summary.exposed_share / *summary.busy_share, 0.03});
  };
  check("overlapped, streamed", four_layers(spend), {});
  check("overlapped, gated", four_layers(spend), {.update_order = UpdateOrder::Gated});
  check("overlapped, slow wire", slow_wire, {});
  check("overlapped, long update between waits", long_update, {});
  check("overlapped, accumulation", four_layers(spend), {.micro_steps = 2});
  check("after", four_layers(spend), {.schedule = Schedule::After, .update_order = UpdateOrder::Gated});
}

void prove_one_rank(Device& device, const Spend& spend) {
  const auto network = four_layers(spend);
  const auto communicator = make_single_communicator();
  const auto group = make_single_rank_group();
  const auto summary = summarize(train(network, {}, {device, *communicator, *group}));
  print({"one rank", "communication share, exposed", 0.0, summary.exposed_share, 0.0});
  print({"one rank", "overlap ratio", std::nullopt, summary.overlap_ratio, 0.0});
}

constexpr double kDelayMs = 20.0;

// The last rank takes longer in each forward pass.
TimedNetwork network_of(RankGroup& group, double delay_ms) {
  auto network = four_layers();
  if (group.rank().value == group.world_size() - 1) network.layers[0].forward_ms += delay_ms;
  return network;
}

void print_late_rank(const std::string& link, const RunRecord& even, const RunRecord& late) {
  constexpr double kDelayShare = 0.05;
  constexpr double kWireShare = 0.1;
  const auto name = fmt::format("a rank of {} delayed by {:.0f} ms, {}", late.world_size, kDelayMs, link);
  const auto& before = *even.bucket_times;
  const auto& after = *late.bucket_times;
  const auto last = after.peer_wait_ms.size() - 1;
  for (std::size_t rank = 0; rank <= last; ++rank) {
    const double rise = after.peer_wait_ms[rank] - before.peer_wait_ms[rank];
    print({name, fmt::format("rise of rank {}'s peer wait ms", rank), rank < last ? kDelayMs : 0.0, rise,
           kDelayShare * kDelayMs});
  }
  print({name, "wire ms", before.wire_ms, after.wire_ms, kWireShare * before.wire_ms});
}

// Ranks as threads; their wire waits for the last and then sleeps.
class MeetingWire final : public Communicator {
 public:
  MeetingWire(const TimedNetwork& network, RankGroup& group, std::barrier<>& meeting)
      : network_(network), group_(group), meeting_(meeting) {}

  Rank rank() const override { return group_.rank(); }
  int world_size() const override { return group_.world_size(); }
  void all_reduce_sum(TensorView, Stream& stream) override {
    as_cpu(stream).enqueue([this] { meeting_.arrive_and_wait(); });
    network_.spend(stream, network_.all_reduce_ms[calls_++ % network_.all_reduce_ms.size()]);
  }
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank, Stream&) override {}
  void throw_if_failed() override {}
  std::string description() const override { return "meeting"; }

 private:
  const TimedNetwork& network_;
  RankGroup& group_;
  std::barrier<>& meeting_;
  std::size_t calls_ = 0;
};

void prove_late_thread() {
  constexpr int kRanks = 2;
  const auto train_with = [](double delay_ms) {
    RunRecord record;
    std::barrier<> meeting(kRanks);
    const auto thrown = ThreadRanks(kRanks).run([&](RankGroup& group) {
      const auto network = network_of(group, delay_ms);
      MeetingWire wire(network, group, meeting);
      CpuDevice device;
      auto of_rank = train(network, {}, {device, wire, group});
      if (group.is_root()) record = std::move(of_rank);
    });
    for (const auto& failure : thrown) {
      if (failure) std::rethrow_exception(failure);
    }
    return record;
  };
  const auto even = train_with(0.0);
  print_late_rank("sleeping wire", even, train_with(kDelayMs));
}

// The wire takes longer than the 12 ms between two buckets: the early rank is held up by the first bucket
// alone. On a faster wire it would wait for each of them, and 20 ms of delay would rightly be more than that
// of peer wait.
void prove_late_process(const MpiSession& session) {
  constexpr double kWireMs = 14.0;
  CommOptions options;
  options.pace = LinkModel{.latency_us = kWireMs * 1e3, .bus_gbit_per_s = 1.0};
  options.watchdog.timeout = std::chrono::seconds(60);
  const auto comm = make_mpi_comm(session, options);
  auto& group = comm->ranks();
  CpuDevice device;
  const auto train_with = [&](double delay_ms) {
    return train(network_of(group, delay_ms), {}, {device, comm->communicator(), group});
  };
  const auto even = train_with(0.0);
  const auto late = train_with(kDelayMs);
  if (group.is_root()) print_late_rank("paced MPI", even, late);
}

double cpu_seconds() {  // of all threads of this process
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Steps come much faster than in training, so that what the writer's waking costs is spread over more of
// them: it wakes a few times a second, whatever the steps do.
void measure_metrics_lines() {
  constexpr std::int64_t kLines = 50'000;
  static_assert(kLines < static_cast<std::int64_t>(MetricsFile::kMostWaiting));
  char folder[] = "/tmp/tandem-metrics-XXXXXX";
  TANDEM_EXPECT(mkdtemp(folder) != nullptr, "a folder for the measurement cannot be made");
  const auto path = std::filesystem::path(folder) / "metrics.jsonl";
  const StepTiming timing{.step_ms = 31.7, .data_wait_ms = 0.01, .forward_ms = 10.2, .backward_ms = 19.8};
  const double cpu_before = cpu_seconds();
  MetricsFile file(path);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < kLines; ++step)
    file.add({.step = step, .time_s = 1.7e9, .loss = 0.512, .learning_rate = 0.1, .timing = timing});
  const std::chrono::duration<double> added = std::chrono::steady_clock::now() - begin;
  const auto trouble = file.close();
  const double cpu_s = cpu_seconds() - cpu_before;
  std::filesystem::remove_all(folder);
  TANDEM_EXPECT(trouble.empty(), "{}", trouble);
  const nlohmann::ordered_json line = {{"lines", kLines},
                                       {"training_thread_us", added.count() * 1e6 / kLines},
                                       {"all_threads_us", cpu_s * 1e6 / kLines}};
  fmt::print("{}\n", line.dump());
}

#ifdef TANDEM_SPIN_KERNEL
// On one GPU, where time is spent by a kernel that spins; a step is recorded and replayed as in training.
void prove_on_gpu() {
  CudaDevice device({.ordinal = 0, .graphs = true});
  const Spend spin = [](Stream& stream, double ms) { launch_spin(ms, as_cuda(stream).raw()); };
  prove_exposed_time(device, spin);
  prove_one_rank(device, spin);
}
#else
void prove_on_gpu() {
  throw Error("tandem", "CUDA is built in", "this program was built without CUDA");
}
#endif

void prove(const MpiSession& session, std::string_view where) {
  TANDEM_EXPECT(where == "cpu" || where == "cuda" || where == "metrics",
                "there are cpu, cuda and metrics, not {}", where);
  if (where == "metrics") return measure_metrics_lines();
  if (where == "cuda") return prove_on_gpu();
  if (session.identity().world_size > 1) return prove_late_process(session);
  CpuDevice device;
  prove_exposed_time(device, spend_on_host);
  prove_one_rank(device, spend_on_host);
  prove_late_thread();
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  const tandem::MpiSession session(std::chrono::seconds(60));
  try {
    tandem::prove(session, argc > 1 ? argv[1] : "cpu");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", session.identity().rank.value, error.what());
    session.abort(1);
  }
}
