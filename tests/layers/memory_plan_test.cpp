#include <gtest/gtest.h>

#include "core/rng.h"
#include "layers/planner.h"
#include "support/memory_property.h"
#include "support/silent_backend.h"

namespace tandem {
namespace {

class MemoryPlanTest : public ::testing::Test {
 protected:
  SilentBackend backend_;
  Planner plan_{backend_, DType::F32};
};

constexpr std::int64_t kBytes = 4 * 1024;
constexpr std::int64_t kElements = 1024;  // kBytes of fp32

TEST_F(MemoryPlanTest, ChainNeedsTwoTensors) {
  auto last = plan_.tensor("t0", {kElements});
  for (int i = 0; i < 10; ++i) {
    const auto next = plan_.tensor("t", {kElements});
    plan_.op({reads(last), writes(next)});
    last = next;
  }
  plan_.begin_backward();
  const auto plan = plan_.finish();
  EXPECT_EQ(plan.arena_bytes, ByteCount(2 * kBytes));
}

TEST_F(MemoryPlanTest, SavedForBackwardLivesUntilThenInTrainingOnly) {
  const auto a = plan_.tensor("a", {kElements});
  const auto b = plan_.tensor("b", {kElements});
  const auto c = plan_.tensor("c", {kElements});
  const auto d = plan_.tensor("d", {kElements});
  plan_.op({writes(a)});
  plan_.op({reads(a), writes(b)});
  plan_.op({reads(b), writes(c)});
  plan_.begin_backward();
  plan_.op({reads(a), reads(c), writes(d)});
  const auto plan = plan_.finish();
  EXPECT_EQ(expect_disjoint_memory(plan, Mode::Train), ByteCount(3 * kBytes));
  EXPECT_EQ(expect_disjoint_memory(plan, Mode::Evaluate), ByteCount(2 * kBytes));
  EXPECT_FALSE(plan.storages.back().evaluate_offset.has_value()) << "d is no tensor of evaluation";
  EXPECT_EQ(plan.storages[0].evaluate_offset, plan.storages[2].evaluate_offset) << "c follows a";
}

TEST_F(MemoryPlanTest, ViewKeepsItsMemoryAlive) {
  const auto a = plan_.tensor("a", {kElements});
  const auto view = plan_.reshaped(a, {2, kElements / 2});
  const auto b = plan_.tensor("b", {kElements});
  plan_.op({writes(a)});
  plan_.op({writes(b)});
  plan_.op({reads(view)});
  plan_.begin_backward();
  const auto plan = plan_.finish();
  EXPECT_EQ(plan.storages.size(), 2u);
  EXPECT_EQ(expect_disjoint_memory(plan, Mode::Train), ByteCount(2 * kBytes));
}

TEST_F(MemoryPlanTest, ViewOfOtherSizeIsRefused) {
  const auto a = plan_.tensor("a", {kElements});
  EXPECT_THROW(plan_.reshaped(a, {kElements + 1}), Error);
}

TEST_F(MemoryPlanTest, ExternalAndUnusedTakeNoMemory) {
  const auto external = plan_.external("x", {kElements}, DType::F32);
  plan_.tensor("unused", {kElements});
  plan_.op({reads(external)});
  plan_.begin_backward();
  EXPECT_EQ(plan_.finish().arena_bytes, ByteCount(0));
}

TEST_F(MemoryPlanTest, ScratchIsWhatHoldsNoValuesFromOneOpToTheNext) {
  const auto a = plan_.tensor("a", {4 * kElements});
  const auto gradient = plan_.tensor("gradient", {3 * kElements});
  const auto scratch = plan_.bytes("workspace", ByteCount(2 * kBytes));
  const auto less = plan_.bytes("workspace", ByteCount(kBytes));
  const auto input = plan_.external("input", {8 * kElements}, DType::F32);
  plan_.op({updates(input), writes(a), updates(scratch)});
  plan_.begin_backward();
  plan_.op({reads(a), writes(gradient), updates(less)});
  plan_.op({updates(gradient)});
  EXPECT_EQ(plan_.finish().largest_scratch(), ByteCount(2 * kBytes));
}

// The middle tensors are dead from one writing to the next, the first input is not.
TEST_F(MemoryPlanTest, WhatIsWrittenAnewWasDeadBefore) {
  const auto input = plan_.tensor("input", {kElements});
  const auto a = plan_.tensor("a", {kElements});
  const auto b = plan_.tensor("b", {2 * kElements});
  const auto c = plan_.tensor("c", {2 * kElements});
  plan_.op({writes(input)});
  plan_.op({reads(input), writes(a)});
  plan_.op({reads(a), writes(b)});
  plan_.op({reads(b), writes(c)});
  plan_.begin_backward();
  plan_.op({updates(c)});
  plan_.op({reads(input), writes(a)});
  plan_.op({reads(a), writes(b)});
  plan_.op({reads(b)});
  const auto plan = plan_.finish();
  EXPECT_EQ(expect_disjoint_memory(plan, Mode::Train), ByteCount(5 * kBytes));
  EXPECT_EQ(plan.arena_bytes, ByteCount(5 * kBytes)) << "a is alive beside b alone";
}

TEST_F(MemoryPlanTest, AnUpdateKeepsWhatWasThere) {
  const auto a = plan_.tensor("a", {kElements});
  const auto b = plan_.tensor("b", {kElements});
  plan_.op({writes(a)});
  plan_.op({writes(b)});
  plan_.begin_backward();
  plan_.op({updates(a)});
  EXPECT_EQ(plan_.finish().arena_bytes, ByteCount(2 * kBytes));
}

TEST_F(MemoryPlanTest, ScratchIsFreeBetweenTwoOps) {
  const auto scratch = plan_.bytes("workspace", ByteCount(kBytes));
  const auto a = plan_.tensor("a", {kElements});
  plan_.op({updates(scratch)});
  plan_.op({writes(a)});
  plan_.begin_backward();
  plan_.op({updates(scratch)});
  EXPECT_EQ(plan_.finish().arena_bytes, ByteCount(kBytes));
}

TEST_F(MemoryPlanTest, NoBytesAreNoTensor) {
  EXPECT_FALSE(plan_.bytes("workspace", ByteCount(0)).valid());
}

TEST_F(MemoryPlanTest, OpWithoutTensorsIsRefused) {
  EXPECT_THROW(plan_.op({reads(TensorId{})}), Error);
}

// Any list of uses, whatever lives how long.
class RandomPlanTest : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomPlanTest, StoragesInUseNeverOverlap) {
  const auto key = philox_key(GetParam(), RandomUse::Synthetic);
  std::uint64_t counter = 0;
  const auto below = [&](std::uint32_t bound) {
    return uniform_below(philox(key, counter++).word[0], bound);
  };

  SilentBackend backend;
  Planner planner(backend, DType::F32);
  std::vector<TensorId> tensors;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t elements = 1 + below(5000);
    const auto kind = below(8);
    if (kind == 0 && !tensors.empty()) {
      const auto base = tensors[below(static_cast<std::uint32_t>(tensors.size()))];
      tensors.push_back(planner.reshaped(base, {planner.shape(base).elements().value(), 1}));
    } else if (kind == 1) {
      tensors.push_back(planner.external("x", {elements}, DType::F32));
    } else {
      tensors.push_back(planner.tensor("t", {elements}));
    }
  }
  const auto any = [&] { return tensors[below(static_cast<std::uint32_t>(tensors.size()))]; };
  for (int op = 0; op < 80; ++op) {
    if (op == 40) planner.begin_backward();
    planner.op({reads(any()), writes(any()), updates(any())});
  }
  const auto plan = planner.finish();
  const auto train = expect_disjoint_memory(plan, Mode::Train);
  const auto evaluate = expect_disjoint_memory(plan, Mode::Evaluate);
  EXPECT_GE(plan.arena_bytes, std::max(train, evaluate));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlanTest, ::testing::Range(0u, 40u));

}  // namespace
}  // namespace tandem
