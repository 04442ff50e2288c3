// Whole training runs on one GPU.
#include <gmock/gmock.h>

#include "comm/comm_setup.h"
#include "comm/cuda/emulated_communicator.h"
#include "comm/cuda/nccl_communicator.h"
#include "comm/single.h"
#include "cuda/gpu_test.h"
#include "ops/cuda/cuda_backend.h"
#include "support/training_run.h"

namespace tandem {
namespace {

struct Way {
  bool graphs = true;
  bool tf32 = false;
};

TrainingDevice on_gpu(const Way& way, DType reduce) {
  auto device = std::make_unique<CudaDevice>(CudaDeviceOptions{.graphs = way.graphs});
  auto ops = make_cuda_backend(
      *device, {.autotune = false, .deterministic = true, .tf32 = way.tf32, .weight_gradient = reduce});
  return {std::move(device), std::move(ops)};
}

struct Outcome {
  std::vector<float> parameters;
  std::vector<LossRecord> losses;
};

enum class Link { None, Emulated, Nccl };

Outcome train(const TrainingSetup& setup, TrainingDevice on, Link link = Link::None) {
  const auto comm = make_single_comm({});
  std::unique_ptr<Communicator> communicator;
  if (link == Link::Emulated) {
    communicator = make_emulated_communicator(
        as_cuda(*on.device),
        {.name = "test", .ranks = 2, .model = {.latency_us = 5.0, .bus_gbit_per_s = 400.0}});
  } else if (link == Link::Nccl) {
    communicator = make_nccl_ranks(as_cuda(*on.device), comm->ranks(), comm->watchdog(), {}).communicator;
  } else {
    communicator = make_single_communicator();
  }
  TrainingRun run(setup, *communicator, comm->ranks(), "", std::move(on));
  const auto losses = run.run().losses;
  return {run.parameters(), losses};
}

// Everything that changes from step to step: a rate that warms up and decays, dropout, bias corrections,
// clipping.
TrainingSetup eventful_gpt(DType compute, std::int64_t steps = 50) {
  TrainingSetup setup{.model = tiny_gpt(0.2f), .train_samples = 12 * steps, .job = small_job(steps, 1e-2)};
  setup.job.optimizer = {.rule = AdamWOptions{}, .weight_decay = 0.1f};
  setup.job.trainer.update_order = UpdateOrder::Gated;
  setup.job.trainer.clip_norm = 0.5f;
  setup.job.trainer.learning_rate.warmup_steps = 10;
  setup.job.trainer.learning_rate.decay = Decay::Cosine;
  setup.job.compute = setup.job.reduce = compute;
  return setup;
}

TrainingSetup batch_norm_resnet(DType compute) {
  TrainingSetup setup{.model = tiny_resnet(ResNetNorm::Batch), .job = small_job(20, 0.05)};
  setup.model.width = 8;
  setup.job.optimizer = sgd(0.9f);
  setup.job.compute = setup.job.reduce = compute;
  return setup;
}

class CudaTrainingTest : public GpuTest, public ::testing::WithParamInterface<DType> {};

TEST_P(CudaTrainingTest, GraphsChangeNoBit) {
  for (const auto& setup : {eventful_gpt(GetParam()), batch_norm_resnet(GetParam())}) {
    const auto eager = train(setup, on_gpu({.graphs = false}, GetParam()));
    const auto replayed = train(setup, on_gpu({.graphs = true}, GetParam()));
    EXPECT_TRUE(same_bits(eager.parameters, replayed.parameters)) << setup.model.name;
    EXPECT_EQ(eager.losses, replayed.losses) << setup.model.name;
  }
}

// With one rank in the sum, and whether or not the collectives are in a graph.
TEST_P(CudaTrainingTest, ALinkChangesNoBit) {
  for (const auto& setup : {eventful_gpt(GetParam()), batch_norm_resnet(GetParam())}) {
    const auto alone = train(setup, on_gpu({}, GetParam()));
    for (const auto link : {Link::Emulated, Link::Nccl}) {
      for (const bool graphs : {false, true}) {
        const auto linked = train(setup, on_gpu({.graphs = graphs}, GetParam()), link);
        EXPECT_TRUE(same_bits(alone.parameters, linked.parameters))
            << setup.model.name << ", link " << static_cast<int>(link) << ", graphs " << graphs;
      }
    }
  }
}

// Eager and replayed, with and without buckets that leave meanwhile.
TEST_P(CudaTrainingTest, RecomputationChangesNoBit) {
  auto setup = eventful_gpt(GetParam());
  setup.global_batch = 24;
  setup.micro_steps = 2;
  setup.train_samples *= 2;
  const auto kept = train(setup, on_gpu({}, GetParam()));
  setup.model.recompute_blocks = true;
  for (const auto link : {Link::None, Link::Emulated}) {
    for (const bool graphs : {false, true}) {
      const auto recomputed = train(setup, on_gpu({.graphs = graphs}, GetParam()), link);
      EXPECT_TRUE(same_bits(recomputed.parameters, kept.parameters))
          << "link " << static_cast<int>(link) << ", graphs " << graphs;
      EXPECT_EQ(recomputed.losses, kept.losses);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CudaTrainingTest, ::testing::Values(DType::F32, DType::BF16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

class CudaTrainingOnceTest : public GpuTest {};

// Strict fp32 on both: the sums are in another order, so the last digits differ, and twenty steps of momentum
// and batch statistics spread that.
TEST_F(CudaTrainingOnceTest, LearnsAsTheCpu) {
  for (const auto& setup : {eventful_gpt(DType::F32), batch_norm_resnet(DType::F32)}) {
    const auto cpu = train(setup, {});
    const auto gpu = train(setup, on_gpu({}, DType::F32));
    EXPECT_LT(relative_difference(gpu.parameters, cpu.parameters), 2e-3) << setup.model.name;
    EXPECT_NEAR(gpu.losses.front().loss, cpu.losses.front().loss, 1e-5 * cpu.losses.front().loss);
    EXPECT_NEAR(gpu.losses.back().loss, cpu.losses.back().loss, 5e-3 * cpu.losses.back().loss);
  }
}

// Not step by step, where one batch may be harder than the next, but over windows: the weights drift apart as
// roundings add up, and what they have learned must not.
TEST_F(CudaTrainingOnceTest, Bf16FollowsFp32) {
  constexpr std::int64_t kSteps = 200;
  constexpr std::size_t kWindow = 20;
  const auto exact = train(eventful_gpt(DType::F32, kSteps), on_gpu({}, DType::F32)).losses;
  const auto rounded = train(eventful_gpt(DType::BF16, kSteps), on_gpu({}, DType::BF16)).losses;
  ASSERT_EQ(exact.size(), kSteps);
  ASSERT_EQ(rounded.size(), kSteps);
  const auto mean_from = [](const std::vector<LossRecord>& losses, std::size_t first) {
    double sum = 0.0;
    for (std::size_t i = first; i < first + kWindow; ++i) sum += losses[i].loss;
    return sum / kWindow;
  };
  for (std::size_t first = 0; first < kSteps; first += kWindow) {
    const double wanted = mean_from(exact, first);
    EXPECT_NEAR(mean_from(rounded, first), wanted, 2e-2 * wanted) << "from step " << first;
  }
  EXPECT_NEAR(rounded.front().loss, exact.front().loss, 5e-3 * exact.front().loss);
}

// A step that allocates would stall the GPU, or deadlock with a collective in flight.
TEST_F(CudaTrainingOnceTest, StepsAllocateNothing) {
  auto recomputing = eventful_gpt(DType::F32);
  recomputing.model.recompute_blocks = true;
  for (const auto& setup : {batch_norm_resnet(DType::F32), recomputing}) {
    auto on = on_gpu({}, DType::F32);
    auto& device = dynamic_cast<CudaDevice&>(*on.device);
    const auto communicator = make_single_communicator();
    const auto group = make_single_rank_group();
    TrainingRun run(setup, *communicator, *group, "", std::move(on));
    std::int64_t at_first_step = -1;
    std::int64_t at_last_step = -1;
    run.run([&](const JobProgress& now) {
      if (now.total_step == 1) at_first_step = device.allocations();
      if (now.total_step < setup.job.total_steps) at_last_step = device.allocations();
    });
    EXPECT_EQ(at_first_step, at_last_step) << setup.model.name;
  }
}

}  // namespace
}  // namespace tandem
