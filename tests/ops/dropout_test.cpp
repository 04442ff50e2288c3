#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

constexpr std::int64_t kElements = 1003;  // not a multiple of the four words of a random block

// Ones through dropout for these samples of the run.
std::vector<float> mask(DropoutSpec spec, const std::vector<std::int64_t>& positions) {
  CpuStream stream;
  spec.samples = static_cast<std::int64_t>(positions.size());
  spec.elements_per_sample = kElements;
  const HostTensor x({spec.samples, kElements});
  std::ranges::fill(x.values(), 1.0f);
  const HostTensor where({spec.samples}, DType::I64);
  std::ranges::copy(positions, where.values<std::int64_t>().begin());
  const auto op = make_cpu_dropout(spec);
  op->apply(stream, x.view(), where.view());
  stream.synchronize();
  return {x.values().begin(), x.values().end()};
}

TEST(Dropout, MaskDependsOnTheSampleAndNotOnItsPlace) {
  const DropoutSpec spec{.probability = 0.3f, .seed = 11, .layer = 2};
  const auto together = mask(spec, {7, 8, 9, 10});
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    const auto alone = mask(spec, {7 + sample});
    EXPECT_TRUE(std::ranges::equal(
        alone, std::span(together).subspan(static_cast<std::size_t>(sample * kElements), kElements)));
  }
  EXPECT_NE(mask(spec, {7}), mask(spec, {8}));
}

TEST(Dropout, SeedAndLayerChangeTheMask) {
  const DropoutSpec spec{.probability = 0.5f, .seed = 11, .layer = 2};
  auto other_seed = spec;
  other_seed.seed = 12;
  auto other_layer = spec;
  other_layer.layer = 3;
  EXPECT_NE(mask(spec, {0}), mask(other_seed, {0}));
  EXPECT_NE(mask(spec, {0}), mask(other_layer, {0}));
  EXPECT_EQ(mask(spec, {0}), mask(spec, {0}));
}

TEST(Dropout, KeepsTheRightShareAndScalesIt) {
  for (const float probability : {0.1f, 0.5f, 0.9f}) {
    std::vector<std::int64_t> positions(64);
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
    const auto values = mask({.probability = probability, .seed = 5}, positions);
    const auto dropped = static_cast<double>(std::ranges::count(values, 0.0f));
    const auto n = static_cast<double>(values.size());
    const double deviation = std::sqrt(n * probability * (1.0 - probability));
    EXPECT_NEAR(dropped, n * probability, 5.0 * deviation);
    for (const float value : values) {
      ASSERT_TRUE(value == 0.0f || value == 1.0f / (1.0f - probability)) << value;
    }
  }
}

TEST(Dropout, ElementsAreWordsOfThePhiloxBlockOfTheirPosition) {
  const DropoutSpec spec{.probability = 0.4f, .seed = 0x123456789abcdefULL, .layer = 6};
  const std::int64_t position = 5'000'000'000;  // beyond 32 bits
  const auto values = mask(spec, {position});
  for (std::int64_t e = 0; e < kElements; ++e) {
    const auto block = philox(philox_key(spec.seed, RandomUse::Dropout, spec.layer),
                              static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(e / 4));
    const bool kept = uniform01(block.word[e % 4]) >= spec.probability;
    ASSERT_EQ(values[static_cast<std::size_t>(e)] != 0.0f, kept) << e;
  }
}

TEST(Dropout, ProbabilityZeroIsTheIdentity) {
  for (const float value : mask({.probability = 0.0f}, {3, 4})) ASSERT_EQ(value, 1.0f);
}

TEST(Dropout, WrongTensorsAndSpecsThrow) {
  CpuStream stream;
  const auto op = make_cpu_dropout({.samples = 2, .elements_per_sample = 3});
  const HostTensor x({2, 3}), positions({2}, DType::I64), narrow({2}, DType::I32);
  EXPECT_NO_THROW(op->apply(stream, x.view(), positions.view()));
  stream.synchronize();
  EXPECT_THROW(op->apply(stream, x.view().reshaped({6}), positions.view()), Error);
  EXPECT_THROW(op->apply(stream, x.view(), narrow.view()), Error);
  EXPECT_THROW((void)make_cpu_dropout({.samples = 1, .elements_per_sample = 1, .probability = 1.0f}), Error);
  EXPECT_THROW((void)make_cpu_dropout({.samples = 1, .elements_per_sample = 1, .probability = -0.1f}), Error);
  EXPECT_THROW((void)make_cpu_dropout({.samples = 1, .elements_per_sample = 1, .dtype = DType::F16}), Error);
}

}  // namespace
}  // namespace tandem
