#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace tandem {
namespace {

bool same(const ImageSample& a, const ImageSample& b) {
  return a.label == b.label && std::equal(a.pixels.begin(), a.pixels.end(), b.pixels.begin(), b.pixels.end());
}

TEST(SyntheticImages, HaveTheShapeOfImageNetByDefault) {
  const SyntheticImages images({});
  EXPECT_EQ(images.samples(), 1281167);
  EXPECT_EQ(images.classes(), 1000);
  EXPECT_EQ(images.sample(1281166).pixels.size(), 224u * 224u * 3u);
  EXPECT_THROW(images.sample(1281167), Error);
}

TEST(SyntheticImages, DependOnSeedAndIndexOnly) {
  const SyntheticImageOptions options{.samples = 1000, .shape = {8, 8, 3}, .classes = 10, .seed = 4};
  const SyntheticImages images(options);
  const SyntheticImages again(options);
  const SyntheticImages other({.samples = 1000, .shape = {8, 8, 3}, .classes = 10, .seed = 5});
  std::set<std::int32_t> labels;
  int equal_to_other = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const ImageSample sample = images.sample(index);
    ASSERT_TRUE(same(sample, again.sample(index)));
    equal_to_other += same(sample, other.sample(index));
    ASSERT_GE(sample.label, 0);
    labels.insert(sample.label);
  }
  EXPECT_EQ(equal_to_other, 0);
  EXPECT_EQ(labels, (std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_FALSE(same(images.sample(0), images.sample(1)));
}

TEST(SyntheticTokens, AreInTheVocabularyAndShiftedByOne) {
  for (const std::int64_t length : {1, 2, 3, 4, 5, 7, 8, 1024}) {
    const SyntheticTokens tokens({.samples = 10, .sequence_length = length, .vocabulary = 11, .seed = 1});
    std::vector<std::int32_t> inputs(static_cast<std::size_t>(length), -7);
    std::vector<std::int32_t> targets = inputs;
    tokens.read(9, inputs, targets);
    EXPECT_TRUE(std::equal(inputs.begin() + 1, inputs.end(), targets.begin()));
    const auto outside = [](std::int32_t token) { return token < 0 || token >= 11; };
    EXPECT_TRUE(std::none_of(inputs.begin(), inputs.end(), outside));
    EXPECT_TRUE(std::none_of(targets.begin(), targets.end(), outside));
  }
}

TEST(SyntheticTokens, DependOnSeedAndIndexOnly) {
  const auto read = [](std::uint64_t seed, std::int64_t index) {
    const SyntheticTokens tokens({.samples = 10, .sequence_length = 16, .vocabulary = 50257, .seed = seed});
    std::vector<std::int32_t> inputs(16);
    std::vector<std::int32_t> targets(16);
    tokens.read(index, inputs, targets);
    return inputs;
  };
  EXPECT_EQ(read(1, 3), read(1, 3));
  EXPECT_NE(read(1, 3), read(1, 4));
  EXPECT_NE(read(1, 3), read(2, 3));
}

}  // namespace
}  // namespace tandem
