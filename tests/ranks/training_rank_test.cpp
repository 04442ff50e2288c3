// The rungs of the correctness ladder that need several ranks: each rank of the job runs this program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "comm/single.h"
#include "report/run_summary.h"
#include "support/counting_communicator.h"
#include "support/model_run.h"
#include "support/rank_test.h"
#include "support/training_run.h"

namespace tandem {
namespace {

class Training : public ::testing::Test {
 protected:
  int ranks() const { return rank_test_session().identity().world_size; }

  struct Outcome {
    std::vector<float> parameters;
    std::vector<float> buffers;
    RunRecord record;
  };

  Outcome train(const TrainingSetup& setup, CommBackend backend = CommBackend::Mpi) {
    const auto comm = make_mpi_comm(rank_test_session(), rank_test_options(backend));
    TrainingRun run(setup, comm->communicator(), comm->ranks());
    return finish(run);
  }

  // One rank with the whole batch, in this process.
  static Outcome train_alone(const TrainingSetup& setup) {
    const auto communicator = make_single_communicator();
    const auto group = make_single_rank_group();
    TrainingRun run(setup, *communicator, *group);
    return finish(run);
  }

  static std::vector<float> untrained(const TrainingSetup& setup) {
    const auto communicator = make_single_communicator();
    const auto group = make_single_rank_group();
    return TrainingRun(setup, *communicator, *group).parameters();
  }

 private:
  static Outcome finish(TrainingRun& run) {
    const auto record = run.run();
    return {run.parameters(), run.buffers(), record};
  }
};

// Far enough from the first weights that a wrong gradient would show.
constexpr double kMoved = 1e-2;

// --- N ranks are one rank with the whole batch -------------------------------------------------------------

struct NamedModel {
  const char* name;
  ModelSpec model;
  double learning_rate;
};
void PrintTo(const NamedModel& tested, std::ostream* out) {
  *out << tested.name;
}

class TrainingOf : public Training, public ::testing::WithParamInterface<NamedModel> {
 protected:
  TrainingSetup setup(std::int64_t steps) const {
    return {.model = GetParam().model, .job = small_job(steps, GetParam().learning_rate)};
  }
};

TEST_P(TrainingOf, ManyRanksIsTrainingOfOneWithTheWholeBatch) {
  const auto together = train(setup(5));
  const auto alone = train_alone(setup(5));
  EXPECT_LE(relative_difference(together.parameters, alone.parameters), 1e-5);
  EXPECT_GE(relative_difference(alone.parameters, untrained(setup(5))), kMoved);
  ASSERT_EQ(together.record.losses.size(), alone.record.losses.size());
  for (std::size_t i = 0; i < alone.record.losses.size(); ++i) {
    EXPECT_NEAR(together.record.losses[i].loss, alone.record.losses[i].loss, 1e-5);
  }
}

TEST_P(TrainingOf, ManyMicroStepsIsTrainingOfOneLargeStep) {
  auto accumulating = setup(5);
  accumulating.global_batch = 24;
  accumulating.micro_steps = 2;
  auto whole = accumulating;
  whole.micro_steps = 1;
  const auto in_parts = train(accumulating);
  EXPECT_LE(relative_difference(in_parts.parameters, train(whole).parameters), 1e-5);
  EXPECT_GE(relative_difference(in_parts.parameters, untrained(whole)), kMoved);
}

// Dropout is keyed by the sample's place in the run, not by rank, so it is no exception.
INSTANTIATE_TEST_SUITE_P(Models, TrainingOf,
                         ::testing::Values(NamedModel{"NormFreeResNet", tiny_resnet(ResNetNorm::None), 0.1},
                                           NamedModel{"FrozenResNet", tiny_resnet(ResNetNorm::Frozen), 0.05},
                                           NamedModel{"Gpt", tiny_gpt(), 0.5},
                                           NamedModel{"GptWithDropout", tiny_gpt(0.2f), 0.5}),
                         [](const auto& instance) { return instance.param.name; });

// --- Replicas ----------------------------------------------------------------------------------------------

TrainingSetup batch_norm_setup() {
  TrainingSetup setup{.model = tiny_resnet(ResNetNorm::Batch), .job = small_job(20, 0.05)};
  setup.job.optimizer = sgd(0.9f);
  return setup;
}

TrainingSetup clipped_gpt_setup() {
  TrainingSetup setup{.model = tiny_gpt(0.1f), .job = small_job(20, 1e-2)};
  setup.job.optimizer = {.rule = AdamWOptions{}, .weight_decay = 0.1f};
  setup.job.trainer.update_order = UpdateOrder::Gated;
  setup.job.trainer.clip_norm = 0.1f;
  return setup;
}

TEST_F(Training, LeavesReplicasEqualInEveryBit) {
  for (const auto& setup : {batch_norm_setup(), clipped_gpt_setup()}) {
    const auto outcome = train(setup);
    EXPECT_TRUE(equal_on_all_ranks(outcome.parameters)) << setup.model.name;
    EXPECT_GE(relative_difference(outcome.parameters, untrained(setup)), kMoved) << setup.model.name;
  }
}

// What `outcome` answers to a batch that is the same on all ranks: the logits, through their loss.
std::vector<double> answer(const ModelSpec& spec, const std::vector<float>& parameters,
                           const std::vector<float>& buffers) {
  ModelRun model(make_model(spec, 6));
  auto& store = model.run().store;
  const auto* next = parameters.data();
  for (int i = 0; i < static_cast<int>(store.layout().count()); ++i) {
    const auto master = store.master({i});
    std::memcpy(master.raw(), next, static_cast<std::size_t>(master.bytes().value()));
    next += master.elements().value();
  }
  std::memcpy(store.all_buffers().raw(), buffers.data(), buffers.size() * sizeof(float));
  auto* pixels = model.batch().view().data<std::uint8_t>();
  for (std::int64_t i = 0; i < model.batch().elements(); ++i) pixels[i] = static_cast<std::uint8_t>(37 * i);
  const auto results = model.pass(Mode::Evaluate);
  return {results.loss_sum, static_cast<double>(results.correct)};
}

TEST_F(Training, AveragesStatisticsBeforeEvaluationSoThatReplicasAnswerAlike) {
  auto setup = batch_norm_setup();
  const auto own = train(setup);
  EXPECT_EQ(equal_on_all_ranks(own.buffers), ranks() == 1);  // each rank has seen its own samples
  setup.evaluation_samples = 37;
  const auto outcome = train(setup);
  EXPECT_TRUE(same_bits(outcome.parameters, own.parameters));  // evaluation changes no weight
  EXPECT_TRUE(equal_on_all_ranks(outcome.buffers));
  EXPECT_TRUE(equal_on_all_ranks(answer(setup.model, outcome.parameters, outcome.buffers)));
}

// --- Schedules, groupings, algorithms ----------------------------------------------------------------------

TEST_F(Training, GivesTheSameBitsUnderBothSchedules) {
  for (auto setup : {batch_norm_setup(), clipped_gpt_setup()}) {
    setup.job.total_steps = 5;
    setup.job.schedule = Schedule::After;
    const auto after = train(setup);
    setup.job.schedule = Schedule::Overlapped;
    EXPECT_TRUE(same_bits(train(setup).parameters, after.parameters)) << setup.model.name;
  }
}

TEST_F(Training, HardlyDependsOnGroupingAndAlgorithm) {
  TrainingSetup setup{.model = tiny_resnet(ResNetNorm::None), .job = small_job(5, 0.02)};
  const auto bucketed = train(setup).parameters;
  const auto ring = train(setup, CommBackend::Ring).parameters;
  setup.job.grouping = Grouping::PerTensor;
  const auto per_tensor = train(setup).parameters;
  EXPECT_LE(relative_difference(ring, bucketed), 1e-6);
  EXPECT_LE(relative_difference(per_tensor, bucketed), 1e-6);
  if (ranks() > 2) return;  // two addends have one sum, whatever their order
  EXPECT_TRUE(same_bits(ring, bucketed));
  EXPECT_TRUE(same_bits(per_tensor, bucketed));
}

// --- Recomputation -----------------------------------------------------------------------------------------

TEST_F(Training, GivesTheSameBitsWhetherBlocksAreRecomputedOrKept) {
  for (const std::int64_t micro_steps : {1, 2}) {
    for (auto setup :
         {clipped_gpt_setup(), TrainingSetup{.model = tiny_gpt(0.2f), .job = small_job(10, 0.1)}}) {
      setup.global_batch = 12 * micro_steps;
      setup.micro_steps = micro_steps;
      setup.job.total_steps = 8;
      setup.evaluation_samples = 13;  // after each epoch of five steps or three
      const auto kept = train(setup);
      setup.model.recompute_blocks = true;
      const auto recomputed = train(setup);
      EXPECT_TRUE(same_bits(recomputed.parameters, kept.parameters));
      EXPECT_EQ(recomputed.record.losses, kept.record.losses);
      EXPECT_EQ(recomputed.record.parameter_hash, kept.record.parameter_hash);
      ASSERT_EQ(recomputed.record.epochs.size(), kept.record.epochs.size());
      for (std::size_t i = 0; i < kept.record.epochs.size(); ++i)
        EXPECT_EQ(recomputed.record.epochs[i].eval_loss, kept.record.epochs[i].eval_loss);
      EXPECT_GE(relative_difference(kept.parameters, untrained(setup)), kMoved);
    }
  }
}

TEST_F(Training, SendsTheSameBucketsInTheSameOrderWhetherBlocksAreRecomputedOrKept) {
  TrainingSetup setup{.model = tiny_gpt(0.2f), .job = small_job(3, 0.1)};
  const auto described = [&] {
    const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
    TrainingRun run(setup, comm->communicator(), comm->ranks());
    RunRecord record{.world_size = ranks()};
    run.job().describe(record);
    run.job().run(record, [](const JobProgress&) {});
    return record;
  };
  const auto kept = described();
  setup.model.recompute_blocks = true;
  const auto recomputed = described();
  EXPECT_EQ(recomputed.buckets, kept.buckets);
  EXPECT_TRUE(kept.recomputed.empty());
  EXPECT_EQ(recomputed.recomputed, (std::vector<std::string>{"h.1", "h.0"}));
  for (const auto& rank : recomputed.timing) {
    for (std::size_t step = 0; step < rank.step_ms.size(); ++step) {
      EXPECT_GT(rank.recompute_ms[step].value(), 0.0);
      EXPECT_LE(rank.recompute_ms[step].value(), rank.backward_ms[step].value());
    }
  }
  for (const auto& rank : kept.timing)
    for (const auto& ms : rank.recompute_ms) EXPECT_EQ(ms, std::nullopt);
}

// --- Bytes -------------------------------------------------------------------------------------------------

TEST_F(Training, SendsEveryGradientOncePerStepHoweverManyMicroSteps) {
  for (const auto& model : {tiny_resnet(ResNetNorm::Batch), tiny_gpt()}) {  // the latter has a tied weight
    for (const std::int64_t micro_steps : {1, 2, 3}) {
      TrainingSetup setup{.model = model, .micro_steps = micro_steps, .job = small_job(4, 0.01)};
      setup.global_batch = 12 * micro_steps;
      const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
      CountingCommunicator counting(comm->communicator());
      TrainingRun run(setup, counting, comm->ranks());
      run.run();
      const auto& layout = run.store().layout();
      const int steps = ranks() > 1 ? 4 : 0;  // a job of one sends nothing
      EXPECT_EQ(counting.all_reduced, bytes_of(ElementCount(layout.total().value() * steps), DType::F32));
      EXPECT_EQ(counting.all_reduces, steps * static_cast<int>(layout.buckets().size()));
    }
  }
}

TEST_F(Training, RecordsTheBytesThatItSends) {
  const TrainingSetup setup{.model = tiny_gpt(), .job = small_job(4, 0.01)};
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
  CountingCommunicator counting(comm->communicator());
  TrainingRun run(setup, counting, comm->ranks());
  RunRecord described{.world_size = ranks()};
  run.job().describe(described);
  EXPECT_EQ(described.model.bytes, (described.model.parameters + described.model.padding) * 4);
  const auto before = counting.all_reduced;
  run.run();
  EXPECT_EQ((counting.all_reduced - before).value(), 4 * reduced_bytes_per_step(described));
  EXPECT_EQ(reduced_bytes_per_step(described), ranks() > 1 ? described.model.bytes : 0);
}

// --- Measuring ---------------------------------------------------------------------------------------------

TEST_F(Training, GivesTheSameBitsMeasuredOrNot) {
  for (auto setup : {batch_norm_setup(), clipped_gpt_setup()}) {
    setup.job.total_steps = 8;
    setup.job.trainer.measure = true;
    const auto measured = train(setup);
    setup.job.trainer.measure = false;
    const auto unmeasured = train(setup);
    EXPECT_TRUE(same_bits(measured.parameters, unmeasured.parameters)) << setup.model.name;
    EXPECT_TRUE(same_bits(measured.buffers, unmeasured.buffers)) << setup.model.name;
    EXPECT_EQ(measured.record.losses, unmeasured.record.losses);
    EXPECT_EQ(measured.record.parameter_hash, unmeasured.record.parameter_hash);
    EXPECT_FALSE(measured.record.timing.empty());
    EXPECT_TRUE(unmeasured.record.timing.empty());
  }
}

// Parameters, running statistics and optimizer states, as bytes.
std::string trained_state(const TrainingRun& run) {
  const auto& store = run.store();
  std::string state;
  const auto append = [&](TensorView view) {
    if (!view.empty())
      state.append(static_cast<const char*>(view.raw()), static_cast<std::size_t>(view.bytes().value()));
  };
  append(store.masters(store.everything()));
  append(store.all_buffers());
  for (int i = 0; i < store.options().optimizer_states; ++i)
    append(store.optimizer_state(i, store.everything()));
  return state;
}

TEST_F(Training, TheControlRunSkipsTheCallAloneAndLeavesEveryBit) {
  for (auto setup : {batch_norm_setup(), clipped_gpt_setup()}) {
    setup.job.total_steps = 4;
    const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
    CountingCommunicator counting(comm->communicator());
    TrainingRun run(setup, counting, comm->ranks());
    RunRecord record = run.run();
    const auto trained = trained_state(run);
    const int before = counting.all_reduces;
    run.job().measure_control(record, {.pairs = 2, .steps = 3});
    EXPECT_EQ(trained_state(run), trained) << setup.model.name;
    if (ranks() == 1) {
      EXPECT_FALSE(record.control);
      continue;
    }
    ASSERT_TRUE(record.control);
    const int with_the_call = record.control->warmup_steps + 2 * 3;
    EXPECT_EQ(counting.all_reduces - before,
              with_the_call * static_cast<int>(run.store().layout().buckets().size()));
    ASSERT_EQ(record.control->segments.size(), 4u);
    for (const auto& segment : record.control->segments) {
      EXPECT_EQ(segment.step_ms.size(), static_cast<std::size_t>(ranks()));
      for (const auto& steps : segment.step_ms) EXPECT_EQ(steps.size(), 3u);
    }
  }
}

// --- Evaluation --------------------------------------------------------------------------------------------

TEST_F(Training, EvaluatesEverySampleOnceWhateverTheNumberOfRanks) {
  for (const auto& model : {tiny_resnet(ResNetNorm::None), tiny_gpt()}) {
    for (const std::int64_t samples : {1, 37, 48, 61}) {  // fewer than ranks; not, and, divisible
      TrainingSetup setup{.model = model, .evaluation_samples = samples, .job = small_job(1, 0.0)};
      const auto together = train(setup).record;
      const auto alone = train_alone(setup).record;
      ASSERT_TRUE(together.results && alone.results);
      EXPECT_EQ(together.results->total, model.name == "gpt" ? samples * model.context : samples);
      EXPECT_EQ(together.results->total, alone.results->total);
      EXPECT_EQ(together.results->correct, alone.results->correct);
      EXPECT_NEAR(*together.results->eval_loss, *alone.results->eval_loss, 1e-6);
    }
  }
}

}  // namespace
}  // namespace tandem
