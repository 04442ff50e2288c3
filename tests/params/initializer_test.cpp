#include "params/initializer.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/rng.h"

namespace tandem {
namespace {

// Large enough that several threads share the work; in canonical order, with longer rows, and packed.
const ParameterSpec kSpecs[] = {
    {.name = "rows", .canonical = {3001, 40}, .stored = {3008, 40}, .initializer = Initializer::normal(0.5f)},
    {.name = "longer",
     .canonical = {3001, 40},
     .stored = {3001, 48},
     .initializer = Initializer::normal(2.0f)},
    {.name = "packed",
     .canonical = {64, 250, 3, 3},
     .stored = {64, 3, 3, 256},
     .packing = Packing::Krsc,
     .initializer = Initializer::uniform(0.25f)},
    {.name = "constant", .canonical = {7}, .stored = {8}, .initializer = Initializer::constant(3.0f)}};

TEST(InitializerTest, EachValueComesFromItsCanonicalElementAlone) {
  constexpr std::uint64_t kSeed = 42;
  const ParamId id{3};
  const auto key = philox_key(kSeed, RandomUse::Initialization, 3);
  for (const auto& spec : kSpecs) {
    std::vector<float> expected(static_cast<std::size_t>(spec.stored.elements().value()), 0.0f);
    for (std::int64_t i = 0; i < spec.canonical.elements().value(); ++i) {
      const auto random = philox(key, static_cast<std::uint64_t>(i));
      const float scale = spec.initializer.scale;
      auto& value = expected[static_cast<std::size_t>(stored_index(spec, i))];
      value = scale;
      if (spec.initializer.kind == Initializer::Kind::Normal) {
        value = scale * standard_normal(random.word[0], random.word[1]);
      } else if (spec.initializer.kind == Initializer::Kind::Uniform) {
        value = scale * (2.0f * uniform01(random.word[0]) - 1.0f);
      }
    }
    std::vector<float> actual(expected.size(), 7.0f);
    write_initial_values(spec, id, kSeed, actual);
    EXPECT_TRUE(actual == expected) << spec.name;
  }
}

}  // namespace
}  // namespace tandem
