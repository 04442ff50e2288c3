// The control run in virtual time, where what communication costs is arithmetic.
#include <gtest/gtest.h>

#include <limits>

#include "report/contention.h"
#include "support/thread_ranks.h"
#include "train/timed_training.h"

namespace tandem {
namespace {

// Remembers the streams of a job, so that ranks can be brought to one point in virtual time.
class AlignedDevice final : public Device {
 public:
  DeviceKind kind() const override { return device_.kind(); }
  std::string name() const override { return device_.name(); }
  std::unique_ptr<Stream> make_stream(StreamRole role) override {
    auto stream = device_.make_stream(role);
    streams_.push_back(&as_virtual(*stream));
    if (role == StreamRole::Compute) compute_ = streams_.back();
    return stream;
  }
  std::unique_ptr<Event> make_event(EventUse use) override { return device_.make_event(use); }
  std::unique_ptr<Replay> make_replay(Stream& origin) override { return device_.make_replay(origin); }
  Allocator& memory() override { return device_.memory(); }
  Allocator& pinned_memory() override { return device_.pinned_memory(); }
  std::string memory_address() const override { return device_.memory_address(); }
  DeviceMemory memory_info() const override { return device_.memory_info(); }
  double elapsed_ms(const Event& from, const Event& to) const override {
    return device_.elapsed_ms(from, to);
  }

  VirtualStream& compute() { return *compute_; }
  double now_ms() const {
    double latest = 0.0;
    for (const auto* stream : streams_) latest = std::max(latest, stream->now_ms());
    return latest;
  }
  void run_until(double ms) {
    for (auto* stream : streams_) stream->run_until(ms);
  }

 private:
  VirtualDevice device_;
  std::vector<VirtualStream*> streams_;  // of one job, which makes them once and keeps them
  VirtualStream* compute_ = nullptr;
};

// A barrier holds in virtual time, too: all ranks leave it when the last has come.
class AlignedGroup final : public RankGroup {
 public:
  AlignedGroup(RankGroup& inner, AlignedDevice& device) : inner_(inner), device_(device) {}

  Rank rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  std::string host() const override { return inner_.host(); }
  void barrier() override {
    double last = 0.0;
    for (const auto& arrival : inner_.all_gather(fmt::format("{}", device_.now_ms())))
      last = std::max(last, std::strtod(arrival.c_str(), nullptr));
    device_.run_until(last);
  }
  std::vector<std::string> all_gather(const std::string& text) override { return inner_.all_gather(text); }
  std::string broadcast(const std::string& text, Rank root) override { return inner_.broadcast(text, root); }
  std::vector<double> sum(std::span<const double> values) override { return inner_.sum(values); }

 private:
  RankGroup& inner_;
  AlignedDevice& device_;
};

// Every all-reduce takes `ms` from compute, as one does that needs its multiprocessors.
class ContendingWire final : public TimedWire {
 public:
  ContendingWire(const TimedNetwork& network, RankGroup& group, AlignedDevice& device, double ms)
      : TimedWire(network, group), device_(device), ms_(ms) {}
  void all_reduce_sum(TensorView tensor, Stream& stream) override {
    device_.compute().run_for(ms_);
    TimedWire::all_reduce_sum(tensor, stream);
  }

 private:
  AlignedDevice& device_;
  double ms_;
};

class SteadyPower final : public PowerSource {
 public:
  std::optional<double> watts() override { return 100.0; }
  std::string description() const override { return "steady"; }
};

struct ControlledRun {
  std::vector<TimedNetwork> networks;  // by rank
  double contention_ms = 0.0;
  Schedule schedule = Schedule::Overlapped;
  std::vector<bool> has_power = {false, false};
};

constexpr ControlOptions kControl{.pairs = 2, .steps = 3};

RunRecord run_rank(const ControlledRun& run, RankGroup& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.rank().value);
  const auto& network = run.networks[rank];
  AlignedDevice device;
  AlignedGroup group(ranks, device);
  ContendingWire wire(network, ranks, device, run.contention_ms);
  SteadyPower power;
  JobOptions options;
  options.total_steps = 3;
  options.schedule = run.schedule;
  TimedJob timed(network, {device, wire, group, run.has_power[rank] ? &power : nullptr}, options);
  auto record = timed.run();
  timed.job().measure_control(record, kControl);
  return record;
}

// Rank 0's record, which has the numbers of all.
RunRecord run(const ControlledRun& controlled) {
  RunRecord record;
  const auto thrown = ThreadRanks(static_cast<int>(controlled.networks.size())).run([&](RankGroup& group) {
    auto of_rank = run_rank(controlled, group);
    if (group.is_root()) record = std::move(of_rank);
  });
  for (const auto& failure : thrown) {
    if (failure) std::rethrow_exception(failure);
  }
  return record;
}

ContentionSummary control_of(const ControlledRun& controlled) {
  return *summarize_control(*run(controlled).control);
}

// 1 ms of forward per layer and 0.5 of loss, 3 of backward (2 of the first), 0.5 of update per bucket.
TimedNetwork two_layers() {
  return {.layers = {{1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}}, .update_ms = {0.5, 0.5}, .all_reduce_ms = {4.0, 3.0}};
}
constexpr double kComputeMs = 6.5;

Spread always(double ms) {
  return {.median = ms, .min = ms, .max = ms};
}

TEST(ControlRun, WithoutContentionCommunicationCostsWhatIsExposed) {
  const auto network = two_layers();
  for (const auto schedule : {Schedule::Overlapped, Schedule::After}) {
    const auto control = control_of({.networks = {network, network}, .schedule = schedule});
    EXPECT_EQ(control.step_off_ms, always(kComputeMs));
    EXPECT_EQ(control.contention_ms, always(0.0));
    EXPECT_EQ(control.comm_cost_ms, control.exposed_ms);
    EXPECT_GT(control.exposed_ms.median, 0.0);
    EXPECT_EQ(control.skew_cost_ms, always(0.0));
  }
}

TEST(ControlRun, FindsWhatCommunicationTakesFromCompute) {
  const auto network = two_layers();
  const auto control = control_of({.networks = {network, network}, .contention_ms = 0.75});
  EXPECT_EQ(control.step_off_ms, always(kComputeMs));
  EXPECT_EQ(control.contention_ms, always(2 * 0.75));  // in each of two buckets
}

TEST(ControlRun, TakesALateRankNeitherForExposedNorForContention) {
  const auto network = two_layers();
  auto late = network;
  late.layers[0].forward_ms += 20.0;
  const auto even = control_of({.networks = {network, network}});
  const auto skewed = control_of({.networks = {network, late}});
  EXPECT_EQ(skewed.step_off_ms, always(kComputeMs + 20.0));
  EXPECT_EQ(skewed.exposed_ms, even.exposed_ms);
  EXPECT_EQ(skewed.contention_ms, always(0.0));
}

TEST(ControlRun, IsInNoNumberOfTraining) {
  const auto network = two_layers();
  const auto record = run({.networks = {network, network}});
  EXPECT_EQ(record.timing[0].step_ms.size(), 3u);
  EXPECT_EQ(record.epochs.size(), 1u);
  ASSERT_EQ(record.control->segments.size(), 2u * kControl.pairs);
  for (const auto& segment : record.control->segments) {
    ASSERT_EQ(segment.step_ms.size(), 2u);
    EXPECT_EQ(segment.step_ms[1].size(), static_cast<std::size_t>(kControl.steps));
  }
}

TEST(ControlRun, ARankAloneHasNone) {
  EXPECT_EQ(run({.networks = {two_layers()}}).control, std::nullopt);
}

// --- Energy of a job ---------------------------------------------------------------------------------------

TEST(Energy, IsOfAllRanksAndSplitIntoEpochs) {
  const auto record = run({.networks = {two_layers(), two_layers()}, .has_power = {true, true}});
  ASSERT_TRUE(record.energy);
  EXPECT_EQ(record.energy->source, "steady");
  ASSERT_EQ(record.energy->rank_j.size(), 2u);
  double of_epochs = 0.0;
  for (const auto& epoch : record.epochs) {
    EXPECT_LE(*epoch.training_energy_j, *epoch.energy_j);
    EXPECT_GT(*epoch.training_energy_j, 0.0);
    of_epochs += *epoch.energy_j;
  }
  EXPECT_NEAR(record.energy->rank_j[0] + record.energy->rank_j[1], of_epochs, 1e-9);
}

TEST(Energy, IsNotKnownIfOneRankDoesNotKnowItsOwn) {
  const auto record = run({.networks = {two_layers(), two_layers()}, .has_power = {true, false}});
  EXPECT_EQ(record.energy, std::nullopt);
  EXPECT_EQ(record.epochs[0].energy_j, std::nullopt);
}

}  // namespace
}  // namespace tandem
