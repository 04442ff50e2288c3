#include "data/batch_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "batch_memory.h"
#include "core/error.h"
#include "data/synthetic.h"

namespace tandem {
namespace {

using testing::BatchMemory;

// Image i is all bytes i, its label is i mod 7.
class NumberedImages final : public ImageDataset {
 public:
  explicit NumberedImages(std::int64_t samples) {
    for (std::int64_t index = 0; index < samples; ++index) {
      images_.push_back(std::vector<std::uint8_t>(12, static_cast<std::uint8_t>(index)));
    }
  }
  std::int64_t samples() const override { return std::ssize(images_); }
  ImageShape shape() const override { return {2, 2, 3}; }
  std::int64_t classes() const override { return 7; }
  ImageSample sample(std::int64_t index) const override {
    return {images_.at(static_cast<std::size_t>(index)), static_cast<std::int32_t>(index % 7)};
  }

 private:
  std::vector<std::vector<std::uint8_t>> images_;
};

TEST(ImageBatches, HoldTheSamplesOfTheSampler) {
  const NumberedImages images(100);
  const auto sampler = Sampler::training(100, {.micro_batch = 3, .ranks = 2, .micro_steps = 2}, 4);
  const ImageBatches batches(images, sampler, 1);
  EXPECT_EQ(batches.format(), (BatchFormat{DType::U8, {6, 2, 2, 3}, {6}}));
  BatchMemory memory(batches.format());
  for (const std::int64_t step : {0, 7, 8, 20}) {
    EXPECT_EQ(batches.fill(step, memory.view()), 6);
    std::vector<std::int64_t> rows(6);
    sampler.indices(step, 1, rows);
    for (std::size_t row = 0; row < 6; ++row) {
      EXPECT_EQ(memory.targets()[row], rows[row] % 7);
      for (std::size_t byte = 0; byte < 12; ++byte) EXPECT_EQ(memory.pixel(row * 12 + byte), rows[row]);
    }
  }
}

TEST(ImageBatches, EvaluationMasksWhatIsNoSample) {
  const NumberedImages images(10);
  for (std::int64_t ranks = 1; ranks <= 8; ++ranks) {
    const auto sampler = Sampler::evaluation(10, {.micro_batch = 4, .ranks = ranks});
    std::int64_t valid_targets = 0;
    std::map<std::uint8_t, int> seen;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const ImageBatches batches(images, sampler, rank);
      for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
        BatchMemory memory(batches.format());
        const std::int64_t valid = batches.fill(step, memory.view());
        EXPECT_EQ(valid, 4 - std::count(memory.targets().begin(), memory.targets().end(), kIgnoredTarget));
        valid_targets += valid;
        for (std::size_t row = 0; row < 4; ++row) {
          if (memory.targets()[row] != kIgnoredTarget) {
            ++seen[memory.pixel(row * 12)];
          } else {
            for (std::size_t byte = 0; byte < 12; ++byte) EXPECT_EQ(memory.pixel(row * 12 + byte), 0);
          }
        }
      }
    }
    EXPECT_EQ(valid_targets, 10);
    EXPECT_EQ(seen.size(), 10u);
  }
}

TEST(ImageBatches, AugmentationDoesNotDependOnRankOrWorldSize) {
  const SyntheticImages images({.samples = 96, .shape = {6, 6, 3}, .classes = 1000, .seed = 1});
  const Augmentation augmentation{.options = {.padding = 2, .flip = true}, .seed = 5};
  // By sample index, the bytes an image had in epoch 1.
  using Epoch = std::map<std::int64_t, std::vector<std::uint8_t>>;
  const auto read_epoch = [&](const BatchGrid& grid) {
    const auto sampler = Sampler::training(96, grid, 3);
    Epoch epoch;
    for (std::int64_t rank = 0; rank < grid.ranks; ++rank) {
      const ImageBatches batches(images, sampler, rank, augmentation);
      for (std::int64_t step = sampler.steps_per_epoch(); step < 2 * sampler.steps_per_epoch(); ++step) {
        BatchMemory memory(batches.format());
        batches.fill(step, memory.view());
        std::vector<std::int64_t> rows(static_cast<std::size_t>(grid.rank_batch()));
        sampler.indices(step, rank, rows);
        for (std::size_t row = 0; row < rows.size(); ++row) {
          for (std::size_t byte = 0; byte < 108; ++byte)
            epoch[rows[row]].push_back(memory.pixel(row * 108 + byte));
        }
      }
    }
    return epoch;
  };
  const Epoch one = read_epoch({.micro_batch = 8});
  ASSERT_EQ(one.size(), 96u);
  EXPECT_EQ(one, read_epoch({.micro_batch = 2, .ranks = 4}));
  EXPECT_EQ(one, read_epoch({.micro_batch = 1, .ranks = 3, .micro_steps = 4}));
  int changed = 0;
  for (const auto& [index, bytes] : one) {
    const auto pixels = images.sample(index).pixels;
    changed += !std::equal(bytes.begin(), bytes.end(), pixels.begin(), pixels.end());
  }
  EXPECT_GT(changed, 80);  // one in fifty stays as it is
}

TEST(TokenBatches, HoldInputsAndTargetsShiftedByOne) {
  const SyntheticTokens tokens({.samples = 50, .sequence_length = 5, .vocabulary = 100, .seed = 1});
  const auto sampler = Sampler::training(50, {.micro_batch = 4, .ranks = 3}, 4);
  const TokenBatches batches(tokens, sampler, 2);
  EXPECT_EQ(batches.format(), (BatchFormat{DType::I32, {4, 5}, {4, 5}}));
  BatchMemory memory(batches.format());
  EXPECT_EQ(batches.fill(6, memory.view()), 20);
  std::vector<std::int64_t> rows(4);
  sampler.indices(6, 2, rows);
  std::vector<std::int32_t> inputs(5);
  std::vector<std::int32_t> targets(5);
  for (std::size_t row = 0; row < 4; ++row) {
    tokens.read(rows[row], inputs, targets);
    EXPECT_TRUE(
        std::equal(inputs.begin(), inputs.end(), memory.inputs().begin() + static_cast<int>(row) * 5));
    EXPECT_TRUE(
        std::equal(targets.begin(), targets.end(), memory.targets().begin() + static_cast<int>(row) * 5));
  }
}

TEST(TokenBatches, EvaluationMasksWhatIsNoSample) {
  const SyntheticTokens tokens({.samples = 5, .sequence_length = 3, .vocabulary = 100, .seed = 1});
  const TokenBatches batches(tokens, Sampler::evaluation(5, {.micro_batch = 2, .ranks = 2}), 0);
  BatchMemory memory(batches.format());
  EXPECT_EQ(batches.fill(0, memory.view()), 6);
  EXPECT_EQ(batches.fill(1, memory.view()), 3);
  for (std::size_t t = 3; t < 6; ++t) {
    EXPECT_EQ(memory.inputs()[t], 0);
    EXPECT_EQ(memory.targets()[t], kIgnoredTarget);
  }
}

TEST(BatchSource, GivesTheSameBytesFromSeveralThreads) {
  const SyntheticImages images({.samples = 64, .shape = {6, 6, 3}, .classes = 10, .seed = 1});
  const ImageBatches batches(images, Sampler::training(64, {.micro_batch = 16}, 1), 0,
                             Augmentation{.options = {.padding = 1, .flip = true}, .seed = 1});
  std::vector<BatchMemory> memories(4, BatchMemory(batches.format()));
  std::vector<std::thread> threads;
  for (BatchMemory& memory : memories) threads.emplace_back([&] { batches.fill(3, memory.view()); });
  for (std::thread& thread : threads) thread.join();
  for (const BatchMemory& memory : memories) EXPECT_TRUE(memory == memories.front());
}

TEST(BatchSource, RefusesMemoryOfAnotherFormatAndWrongRanks) {
  const NumberedImages images(10);
  const auto sampler = Sampler::training(10, {.micro_batch = 2, .ranks = 2}, 1);
  const ImageBatches batches(images, sampler, 0);
  BatchMemory other({DType::U8, {3, 2, 2, 3}, {3}});
  EXPECT_THROW(batches.fill(0, other.view()), Error);
  EXPECT_THROW(ImageBatches(images, sampler, 2), Error);
  EXPECT_THROW(ImageBatches(images, Sampler::training(11, {}, 1), 0), Error);
}

TEST(MicroBatch, IsAContiguousPart) {
  BatchMemory memory({DType::U8, {6, 2, 2, 3}, {6}});
  const BatchView second = micro_batch(memory.view(), 1, 3);
  EXPECT_EQ(second.format(), (BatchFormat{DType::U8, {2, 2, 2, 3}, {2}}));
  EXPECT_EQ(second.inputs.data<std::uint8_t>(), memory.view().inputs.data<std::uint8_t>() + 24);
  EXPECT_EQ(second.targets.data<std::int32_t>(), memory.view().targets.data<std::int32_t>() + 2);
  EXPECT_THROW(micro_batch(memory.view(), 0, 4), Error);
  EXPECT_THROW(micro_batch(memory.view(), 3, 3), Error);
  BatchMemory tokens({DType::I32, {4, 5}, {4, 5}});
  EXPECT_EQ(micro_batch(tokens.view(), 3, 4).inputs.data<std::int32_t>(), tokens.inputs().data() + 15);
}

}  // namespace
}  // namespace tandem
