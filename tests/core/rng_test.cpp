#include "core/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

// Known answers of Philox-4x32-10 from the authors' Random123 distribution (kat_vectors).
TEST(Philox, GivesThePublishedKnownAnswers) {
  const auto zero = philox({0, 0}, 0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);

  const auto ones = philox({0xffffffffu, 0xffffffffu}, ~0ull, ~0ull);
  EXPECT_EQ(ones.word[0], 0x408f276du);
  EXPECT_EQ(ones.word[1], 0x41c83b0eu);
  EXPECT_EQ(ones.word[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.word[3], 0x6d5451fdu);

  const auto pi = philox({0xa4093822u, 0x299f31d0u}, 0x85a308d3243f6a88ull, 0x0370734413198a2eull);
  EXPECT_EQ(pi.word[0], 0xd16cfe09u);
  EXPECT_EQ(pi.word[1], 0x94fdccebu);
  EXPECT_EQ(pi.word[2], 0x5001e420u);
  EXPECT_EQ(pi.word[3], 0x24126ea1u);
}

TEST(Philox, UsesAndIndicesHaveTheirOwnNumbers) {
  const auto a = philox(philox_key(1, RandomUse::Dropout, 0), 0);
  const auto b = philox(philox_key(1, RandomUse::Dropout, 1), 0);
  const auto c = philox(philox_key(1, RandomUse::Augmentation, 0), 0);
  EXPECT_NE(a.word[0], b.word[0]);
  EXPECT_NE(a.word[0], c.word[0]);
}

TEST(Philox, NormalsHaveMeanZeroAndVarianceOne) {
  double sum = 0;
  double squares = 0;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    const auto r = philox({7, 9}, static_cast<std::uint64_t>(i));
    const double z = standard_normal(r.word[0], r.word[1]);
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / count, 0.0, 5.0 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1.0, 5.0 * std::sqrt(2.0 / count));
}

TEST(Uniform, StaysBelowItsBound) {
  EXPECT_EQ(uniform01(0), 0.0f);
  EXPECT_LT(uniform01(0xffffffffu), 1.0f);
  EXPECT_EQ(uniform_below(0xffffffffu, 10), 9u);
  EXPECT_EQ(uniform_below(0, 10), 0u);
}

}  // namespace
}  // namespace tandem
