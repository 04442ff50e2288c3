#include "train/memory_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/single.h"
#include "core/error.h"
#include "support/thread_ranks.h"
#include "support/training_run.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

MemoryNeed need_of_16() {
  return {.parameters = {.weights = ByteCount(100), .gradients = ByteCount(50), .optimizer = ByteCount(50)},
          .activations = ByteCount(1600),
          .workspace = ByteCount(30),
          .batches = ByteCount(160),
          .micro_batch = 16};
}

TEST(LargestMicroBatch, IsTheLastThatFitsBesideWhatDoesNotGrow) {
  const auto need = need_of_16();  // 230 + 110 for each sample
  EXPECT_EQ(largest_micro_batch(need, ByteCount(230 + 5 * 110)), 5);
  EXPECT_EQ(largest_micro_batch(need, ByteCount(230 + 5 * 110 - 1)), 4);
  EXPECT_EQ(largest_micro_batch(need, need.total()), 16);
}

TEST(LargestMicroBatch, IsNoneWhereNotOneSampleFits) {
  EXPECT_EQ(largest_micro_batch(need_of_16(), ByteCount(230 + 109)), 0);
  EXPECT_EQ(largest_micro_batch(need_of_16(), ByteCount(100)), 0);
}

std::string refusal(const MemoryNeed& need, const MemoryAvailable& available) {
  try {
    expect_enough_memory(need, available, "a device");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ExpectEnoughMemory, IsSilentUpToTheLastByteOfARanksShare) {
  const auto need = need_of_16();
  EXPECT_EQ(refusal(need, {.device = {.free = need.total(), .total = need.total()}}), "");
  EXPECT_EQ(refusal(need, {.device = {.free = need.total() * 2, .total = need.total() * 2}, .ranks = 2}), "");
  EXPECT_NE(refusal(need, {.device = {.free = need.total() * 2, .total = need.total() * 2}, .ranks = 3}), "");
}

TEST(ExpectEnoughMemory, NamesWhatWouldFit) {
  const DeviceMemory half{.free = ByteCount(230 + 7 * 110), .total = ByteCount(5000)};
  EXPECT_THAT(refusal(need_of_16(), {.device = half}),
              AllOf(HasSubstr("train.micro_batch=16 on a device"), HasSubstr("train.micro_batch=7;")));
  const DeviceMemory little{.free = ByteCount(240), .total = ByteCount(5000)};
  EXPECT_THAT(refusal(need_of_16(), {.device = little}), HasSubstr("not even one sample"));
}

TEST(ExpectEnoughMemory, ProposesRecomputationWhereThatIsEnough) {
  auto recomputed = need_of_16();
  recomputed.activations = ByteCount(400);
  const auto refused = [&](ByteCount free) {
    try {
      expect_enough_memory(need_of_16(), {.device = {.free = free, .total = free}}, "a device",
                           [&] { return recomputed; });
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(recomputed.total()),
              AllOf(HasSubstr("train.recompute=blocks"), HasSubstr("train.micro_batch=5;")));
  EXPECT_THAT(refused(recomputed.total() - ByteCount(1)), Not(HasSubstr("train.recompute")));
  EXPECT_EQ(refused(need_of_16().total()), "");
}

// What a run of the model really announces.
MemoryNeed announced(const ModelSpec& model, std::int64_t batch, std::int64_t micro_steps = 1) {
  std::optional<MemoryNeed> need;
  TrainingSetup setup{.model = model,
                      .global_batch = batch,
                      .micro_steps = micro_steps,
                      .train_samples = 64,
                      .job = small_job(1, 0.1),
                      .before_memory = [&](const MemoryNeed& told) { need = told; }};
  setup.job.optimizer = sgd(0.9f);
  const auto communicator = make_single_communicator();
  const auto group = make_single_rank_group();
  TrainingRun run(setup, *communicator, *group);
  TANDEM_EXPECT(need.has_value(), "nothing was announced");
  EXPECT_EQ(need->parameters.total(), run.store().bytes());
  return *need;
}

TEST(MemoryNeedOfARun, IsNoMoreThanPromisedAtTheMicroBatchThatIsProposed) {
  for (const auto& model : {tiny_resnet(ResNetNorm::Batch), tiny_gpt()}) {
    const auto asked = announced(model, 32);
    for (const std::int64_t fits : {1, 3, 8, 31}) {
      const auto available = announced(model, fits).total();
      const auto proposed = largest_micro_batch(asked, available);
      EXPECT_LE(proposed, fits) << model.name;
      if (proposed > 0) {
        EXPECT_LE(announced(model, proposed).total(), available) << model.name;
      }
    }
    EXPECT_GT(largest_micro_batch(asked, announced(model, 31).total()), 24) << model.name << ": too cautious";
  }
}

TEST(MemoryNeedOfARun, CountsSumsOfMicroGradientsOnlyWhereThereAreSome) {
  const auto model = tiny_gpt();
  EXPECT_EQ(announced(model, 8).parameters.gradients, announced(model, 8, 2).parameters.gradients)
      << "fp32 gradients are their own sums";
}

TEST(AvailableMemory, IsSharedByTheRanksThatTakeFromIt) {
  std::vector<int> ranks(3);
  const auto failures = ThreadRanks(3).run([&](RankGroup& group) {
    const CpuDevice device;
    ranks[static_cast<std::size_t>(group.rank().value)] = available_memory(device, group).ranks;
  });
  for (const auto& failure : failures) EXPECT_FALSE(failure);
  EXPECT_EQ(ranks, (std::vector<int>{3, 3, 3}));
}

}  // namespace
}  // namespace tandem
