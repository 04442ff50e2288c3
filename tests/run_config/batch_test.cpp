#include <gtest/gtest.h>

#include "core/error.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

std::string error_of(const TrainConfig& train, int world_size) {
  try {
    resolve_batch(train, world_size);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ResolveBatch, FollowsFromAccumulationOrFromTheGlobalBatch) {
  TrainConfig train;
  train.micro_batch = 16;
  train.accumulation = 3;
  EXPECT_EQ(resolve_batch(train, 4), (BatchSizes{192, 16, 3}));
  train.accumulation = 0;
  EXPECT_EQ(resolve_batch(train, 4), (BatchSizes{64, 16, 1}));
  train.global_batch = 192;
  EXPECT_EQ(resolve_batch(train, 4), (BatchSizes{192, 16, 3}));
  EXPECT_EQ(resolve_batch(train, 1), (BatchSizes{192, 16, 12}));
  train.accumulation = 6;
  EXPECT_EQ(resolve_batch(train, 2), (BatchSizes{192, 16, 6}));
}

TEST(ResolveBatch, NamesTheNumbersThatDisagree) {
  TrainConfig train;
  train.micro_batch = 16;
  train.accumulation = 0;
  train.global_batch = 100;
  EXPECT_EQ(error_of(train, 2),
            "the batch sizes do not agree\n"
            "  where:    train.global_batch\n"
            "  expected: global_batch = micro_batch × ranks × accumulation\n"
            "  found:    100 is no multiple of 16 × 2 ranks = 32\n"
            "  to do:    set train.global_batch to 96 or 128");
  EXPECT_EQ(error_of(train, 8),
            "the batch sizes do not agree\n"
            "  where:    train.global_batch\n"
            "  expected: global_batch = micro_batch × ranks × accumulation\n"
            "  found:    100 is no multiple of 16 × 8 ranks = 128\n"
            "  to do:    set train.global_batch to 128");
  train.accumulation = 2;
  EXPECT_EQ(error_of(train, 2),
            "the batch sizes do not agree\n"
            "  where:    train.global_batch\n"
            "  expected: global_batch = micro_batch × ranks × accumulation\n"
            "  found:    100 is not 16 × 2 ranks × 2 = 64\n"
            "  to do:    set train.global_batch to 64");
  train.global_batch = 96;
  EXPECT_EQ(error_of(train, 2),
            "the batch sizes do not agree\n"
            "  where:    train.global_batch\n"
            "  expected: global_batch = micro_batch × ranks × accumulation\n"
            "  found:    96 is not 16 × 2 ranks × 2 = 64\n"
            "  to do:    delete train.accumulation, or set it to 3");
}

TEST(EffectiveLearningRate, ScalesWithTheBatchAndShowsHow) {
  OptimConfig optim;
  optim.lr = 0.1;
  EXPECT_EQ(effective_learning_rate(optim, 512).value, 0.1);
  EXPECT_EQ(effective_learning_rate(optim, 512).formula, "optim.lr 0.1, not scaled with the batch");
  optim.lr_reference_batch = 256;
  EXPECT_EQ(effective_learning_rate(optim, 512).value, 0.2);
  EXPECT_EQ(effective_learning_rate(optim, 512).formula,
            "optim.lr 0.1 × global batch 512 / reference batch 256 = 0.2");
}

// One global batch reached with 1, 2, 4 or 8 ranks is trained at one rate.
TEST(EffectiveLearningRate, DoesNotDependOnTheRanksAtAFixedGlobalBatch) {
  TrainConfig train;
  train.micro_batch = 8;
  train.accumulation = 0;
  train.global_batch = 64;
  OptimConfig optim;
  optim.lr_reference_batch = 256;
  for (const int world_size : {1, 2, 4, 8}) {
    EXPECT_EQ(effective_learning_rate(optim, resolve_batch(train, world_size).global_batch).value, 0.025);
  }
}

TEST(ResolveBatch, RefusesMorePassesThanCountersHold) {
  TrainConfig train;
  train.micro_batch = 1;
  train.accumulation = 0;
  train.global_batch = 1'000'000'000'000;
  EXPECT_EQ(error_of(train, 4),
            "the global batch is too large\n"
            "  where:    train.global_batch\n"
            "  expected: at most 4194304 = 1 × 4 ranks × 1048576 forward passes\n"
            "  found:    1000000000000\n"
            "  to do:    lower train.global_batch, or raise train.micro_batch");
  train.global_batch = 4194304;
  EXPECT_EQ(error_of(train, 4), "no error");
}

}  // namespace
}  // namespace tandem
