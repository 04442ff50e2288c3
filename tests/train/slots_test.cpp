// Steps in flight: what the slots keep apart, and how far ahead of the device the host runs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/single.h"
#include "device/cpu/cpu_stream.h"
#include "support/model_run.h"
#include "support/training_run.h"

namespace tandem {
namespace {

constexpr std::int64_t kSteps = 50;

// Everything that changes from step to step: a rate that warms up and decays, dropout, bias corrections and
// clipping. One epoch, so that nothing but the slots ends a stretch of steps.
TrainingSetup eventful_setup() {
  TrainingSetup setup{.model = tiny_gpt(0.2f), .train_samples = 12 * kSteps, .job = small_job(kSteps, 1e-2)};
  setup.job.optimizer = {.rule = AdamWOptions{}, .weight_decay = 0.1f};
  setup.job.trainer.update_order = UpdateOrder::Gated;
  setup.job.trainer.clip_norm = 0.5f;
  setup.job.trainer.learning_rate.warmup_steps = 10;
  setup.job.trainer.learning_rate.decay = Decay::Cosine;
  setup.job.buckets.first = setup.job.buckets.each = ByteCount(1 << 20);  // one bucket, as PlannedRun has
  setup.job.buckets.last = ByteCount(0);
  return setup;
}

struct Outcome {
  std::vector<float> parameters;
  std::vector<LossRecord> losses;
};

Outcome train(const TrainingSetup& setup) {
  const auto communicator = make_single_communicator();
  const auto group = make_single_rank_group();
  TrainingRun run(setup, *communicator, *group);
  const auto losses = run.run().losses;
  return {run.parameters(), losses};
}

// The same training without trainer, slots, prefetcher or events: one step after the other.
Outcome train_by_hand(const TrainingSetup& setup) {
  const auto communicator = make_single_communicator();
  const auto group = make_single_rank_group();
  const TrainingRun data(setup, *communicator, *group);
  ModelRun model(make_model(setup.model, data.micro_batch()),
                 {.optimizer_states = optimizer_states(setup.job.optimizer)});
  auto& store = model.run().store;
  auto& stream = *model.run().stream;
  store.initialize(setup.job.seed, stream);
  Optimizer optimizer(model.backend(), store, setup.job.optimizer);
  const auto all = store.everything();
  const auto norm = model.backend().make_gradient_norm(
      {.elements = all.elements().value(), .clip_norm = setup.job.trainer.clip_norm});
  const Buffer workspace(model.run().device.memory(), norm->workspace_bytes());
  const auto bookkeeping = model.backend().make_step_bookkeeping(false);

  Outcome outcome;
  bool clipped = false;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    model.inputs().step = step;
    model.inputs().learning_rate =
        static_cast<float>(learning_rate_at(setup.job.trainer.learning_rate, step));
    const auto targets = model.targets().view().reshaped(data.train_batches().format().targets);
    data.train_batches().fill(step, {model.batch().view(), targets});
    for (std::int64_t row = 0; row < setup.global_batch; ++row) {
      model.positions().view().data<std::int64_t>()[row] = step * setup.global_batch + row;
    }
    const auto results = model.pass(Mode::Train);
    norm->measure(stream, store.gradients(all), model.pointers(),
                  workspace.view(ByteCount(0), DType::U8, {workspace.bytes().value()}));
    optimizer.step(all, model.pointers(), stream);
    bookkeeping->end(stream, model.pointers());
    stream.synchronize();
    clipped = clipped || model.training().clip_factor < 1.0f;
    outcome.losses.push_back(
        {.step = step, .loss = results.loss_sum / static_cast<double>(results.valid_targets)});
  }
  EXPECT_TRUE(clipped);
  for (int i = 0; i < static_cast<int>(store.layout().count()); ++i) {
    const auto values = snapshot(store.master({i}));
    outcome.parameters.insert(outcome.parameters.end(), values.values().begin(), values.values().end());
  }
  return outcome;
}

TEST(Slots, LeaveStepsInFlightAsTheyAreOneByOne) {
  auto setup = eventful_setup();
  const auto in_flight = train(setup);
  setup.job.check_replicas_every = 1;  // drains the streams after each step
  const auto one_by_one = train(setup);
  EXPECT_TRUE(same_bits(in_flight.parameters, one_by_one.parameters));
  EXPECT_EQ(in_flight.losses, one_by_one.losses);
}

TEST(Slots, LeaveStepsAsALoopWithoutThemMakesThem) {
  const auto trained = train(eventful_setup());
  const auto by_hand = train_by_hand(eventful_setup());
  EXPECT_TRUE(same_bits(trained.parameters, by_hand.parameters));
  EXPECT_EQ(trained.losses, by_hand.losses);
}

// Stands for two ranks. Its first all-reduce does not end before `expected` have been enqueued, or for a time
// in which that would long have happened.
class HoldingCommunicator final : public Communicator {
 public:
  explicit HoldingCommunicator(int expected) : expected_(expected) {}

  Rank rank() const override { return {}; }
  int world_size() const override { return 2; }
  void all_reduce_sum(TensorView, Stream& stream) override {
    const std::lock_guard lock(mutex_);
    most_in_flight = std::max(most_in_flight, ++enqueued_ - finished_);
    changed_.notify_all();
    as_cpu(stream).enqueue([this] {
      std::unique_lock enqueued(mutex_);
      held_long_enough =
          changed_.wait_for(enqueued, std::chrono::seconds(30), [this] { return enqueued_ >= expected_; });
      ++finished_;
    });
  }
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank, Stream&) override {}
  void throw_if_failed() override {}
  std::string description() const override { return "holding"; }

  int most_in_flight = 0;
  bool held_long_enough = true;

 private:
  const int expected_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int enqueued_ = 0;
  int finished_ = 0;
};

// While the device is busy with step s, the host may enqueue as many more as there are other slots.
TEST(Slots, LetTheHostRunAheadByAllButOneOfThem) {
  auto setup = eventful_setup();  // one all-reduce per step
  setup.job.total_steps = 12;
  HoldingCommunicator communicator(Trainer::kSlots);
  const auto group = make_single_rank_group();
  TrainingRun(setup, communicator, *group).run();
  EXPECT_TRUE(communicator.held_long_enough);
  EXPECT_EQ(communicator.most_in_flight, Trainer::kSlots);
}

// Stands for two ranks over a link so slow that steps pile up behind it.
class SlowCommunicator final : public Communicator {
 public:
  Rank rank() const override { return {}; }
  int world_size() const override { return 2; }
  void all_reduce_sum(TensorView, Stream& stream) override {
    ++enqueued;
    as_cpu(stream).enqueue([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++finished;
    });
  }
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank, Stream&) override {}
  void throw_if_failed() override {}
  std::string description() const override { return "slow"; }

  int enqueued = 0;
  std::atomic<int> finished = 0;
};

// Whoever is told of steps may throw, as a job does when the loss is no number; memory that steps in flight
// use is released next.
TEST(Slots, AreAtRestWhenTrainingThrows) {
  SlowCommunicator communicator;
  const auto group = make_single_rank_group();
  TrainingRun run(eventful_setup(), communicator, *group);
  EXPECT_THROW(run.run([](const JobProgress& now) {
    if (now.total_step == 3) throw Error("test", "work", "boom");
  }),
               Error);
  EXPECT_GT(communicator.enqueued, 4);
  EXPECT_EQ(communicator.finished, communicator.enqueued);
}

}  // namespace
}  // namespace tandem
