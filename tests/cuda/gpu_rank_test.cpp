// The rungs of the correctness ladder that need several ranks, with ranks of GPUs: those that share GPU 0 and
// those with one each over NCCL (gpu_ranks.h). The same statements as ranks/training_rank_test.cpp makes of
// CPU ranks.
#include <gtest/gtest.h>

#include "comm/single.h"
#include "cuda/gpu_ranks.h"
#include "ops/cuda/cuda_backend.h"
#include "support/rank_test.h"
#include "support/training_run.h"

namespace tandem {
namespace {

struct Outcome {
  std::vector<float> parameters;
  std::vector<LossRecord> losses;
};

struct Way {
  bool fast = false;  // bf16 and whatever kernels are quickest; else strict fp32, the same bits every time
  bool graphs = gpu_ranks_can_be_captured();
};

class GpuRankTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto reason = reason_against_gpu_ranks(rank_test_session().identity().world_size);
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  static TrainingDevice on_gpu(const Way& way) {
    auto device = device_of_gpu_rank(rank_test_session().identity().rank.value, way.graphs);
    auto ops = make_cuda_backend(*device, {.autotune = false,
                                           .deterministic = !way.fast,
                                           .weight_gradient = way.fast ? DType::BF16 : DType::F32});
    return {std::move(device), std::move(ops)};
  }

  static Outcome train(const TrainingSetup& setup, const Way& way = {}) {
    auto on = on_gpu(way);
    const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
    const auto communicator = join_gpu_ranks(dynamic_cast<CudaDevice&>(*on.device), *comm);
    TrainingRun run(setup, *communicator, comm->ranks(), "", std::move(on));
    const auto losses = run.run().losses;
    return {run.parameters(), losses};
  }

  // One rank with the whole batch, in this process.
  static Outcome train_alone(const TrainingSetup& setup) {
    const auto communicator = make_single_communicator();
    const auto group = make_single_rank_group();
    TrainingRun run(setup, *communicator, *group, "", on_gpu({}));
    const auto losses = run.run().losses;
    return {run.parameters(), losses};
  }

  // On the CPU, which computes in fp32 only; the first weights are the same for every dtype.
  static std::vector<float> untrained(TrainingSetup setup) {
    setup.job.compute = setup.job.reduce = DType::F32;
    const auto communicator = make_single_communicator();
    const auto group = make_single_rank_group();
    return TrainingRun(setup, *communicator, *group).parameters();
  }
};

// Far enough from the first weights that a wrong gradient would show.
constexpr double kMoved = 1e-2;

TEST_F(GpuRankTest, TrainsAsOneRankWithTheWholeBatch) {
  for (const auto& setup :
       {TrainingSetup{.model = tiny_resnet(ResNetNorm::None), .job = small_job(5, 0.1)},
        TrainingSetup{.model = tiny_resnet(ResNetNorm::Frozen), .job = small_job(5, 0.05)},
        TrainingSetup{.model = tiny_gpt(0.2f), .job = small_job(5, 0.5)}}) {
    SCOPED_TRACE(setup.model.name);
    const auto together = train(setup);
    const auto alone = train_alone(setup);
    EXPECT_LE(relative_difference(together.parameters, alone.parameters), 1e-5);
    EXPECT_GE(relative_difference(alone.parameters, untrained(setup)), kMoved);
    ASSERT_EQ(together.losses.size(), alone.losses.size());
    for (std::size_t i = 0; i < alone.losses.size(); ++i) {
      EXPECT_NEAR(together.losses[i].loss, alone.losses[i].loss, 1e-5);
    }
  }
}

TrainingSetup hundred_steps(ModelSpec model, DType dtype) {
  TrainingSetup setup{.model = std::move(model), .train_samples = 1200, .job = small_job(100, 0.02)};
  setup.model.width = 8;
  setup.job.optimizer = sgd(0.9f);
  setup.job.compute = setup.job.reduce = dtype;
  return setup;
}

TEST_F(GpuRankTest, LeavesReplicasEqualInEveryBitInFastModeToo) {
  for (const auto& model : {tiny_resnet(ResNetNorm::Batch), tiny_gpt(0.1f)}) {
    for (const bool fast : {false, true}) {
      const auto setup = hundred_steps(model, fast ? DType::BF16 : DType::F32);
      const auto outcome = train(setup, {.fast = fast});
      EXPECT_TRUE(equal_on_all_ranks(outcome.parameters)) << model.name << ", fast " << fast;
      EXPECT_GE(relative_difference(outcome.parameters, untrained(setup)), kMoved) << model.name;
    }
  }
}

TEST_F(GpuRankTest, GivesTheSameBitsUnderBothSchedules) {
  for (const auto& model : {tiny_resnet(ResNetNorm::Batch), tiny_gpt(0.1f)}) {
    TrainingSetup setup{.model = model, .job = small_job(5, 0.02)};
    setup.job.schedule = Schedule::After;
    const auto after = train(setup);
    setup.job.schedule = Schedule::Overlapped;
    EXPECT_TRUE(same_bits(train(setup).parameters, after.parameters)) << model.name;
  }
}

TEST_F(GpuRankTest, GraphsChangeNoBit) {
  if (!gpu_ranks_can_be_captured()) GTEST_SKIP() << "collectives through host memory cannot be captured";
  for (const auto& model : {tiny_resnet(ResNetNorm::Batch), tiny_gpt(0.1f)}) {
    const auto setup = hundred_steps(model, DType::F32);
    const auto eager = train(setup, {.graphs = false});
    const auto replayed = train(setup, {.graphs = true});
    EXPECT_TRUE(same_bits(eager.parameters, replayed.parameters)) << model.name;
    EXPECT_EQ(eager.losses, replayed.losses) << model.name;
  }
}

// Two addends have one sum, whatever their order; more do not.
TEST_F(GpuRankTest, HardlyDependsOnTheGrouping) {
  TrainingSetup setup{.model = tiny_resnet(ResNetNorm::None), .job = small_job(5, 0.02)};
  const auto bucketed = train(setup).parameters;
  setup.job.grouping = Grouping::PerTensor;
  const auto per_tensor = train(setup).parameters;
  EXPECT_LE(relative_difference(per_tensor, bucketed), 1e-6);
  if (rank_test_session().identity().world_size > 2) return;
  EXPECT_TRUE(same_bits(per_tensor, bucketed));
}

}  // namespace
}  // namespace tandem
