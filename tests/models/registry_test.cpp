#include "models/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

InputProblem problem_of(const ModelSpec& spec, std::int64_t micro_batch = 2) {
  try {
    make_model(spec, micro_batch);
  } catch (const InputError& error) {
    return error.problem();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(RegistryTest, EveryNameMakesAModel) {
  for (const auto& name : model_names()) EXPECT_NO_THROW(make_model({.name = name}, 1)) << name;
}

TEST(RegistryTest, InputsAreAsTheDataGivesThem) {
  const auto images = make_model({.name = "resnet18", .image = {32, 24, 3}}, 5).input();
  EXPECT_EQ(images.dtype, DType::U8);
  EXPECT_EQ(images.shape, Shape({5, 32, 24, 3}));
  EXPECT_EQ(images.targets, 5);
  const auto tokens = make_model({.name = "gpt2_124m", .context = 64}, 5).input();
  EXPECT_EQ(tokens.dtype, DType::I32);
  EXPECT_EQ(tokens.shape, Shape({5, 64}));
  EXPECT_EQ(tokens.targets, 320);
  EXPECT_EQ(tokens.samples(), 5);
}

TEST(RegistryTest, UnknownNameListsTheKnown) {
  const auto problem = problem_of({.name = "resnet51"});
  EXPECT_EQ(problem.where, "model.name");
  EXPECT_EQ(problem.found, "resnet51");
  for (const auto& name : model_names()) EXPECT_THAT(problem.expected, HasSubstr(name));
}

TEST(RegistryTest, SizesThatDoNotGoTogetherNameTheKey) {
  EXPECT_EQ(problem_of({.name = "gpt", .heads = 3, .channels = 128}).where, "model.heads");
  EXPECT_EQ(problem_of({.name = "gpt", .vocab = 256, .padded_vocab = 255}).where, "model.padded_vocab");
  EXPECT_EQ(problem_of({.name = "gpt", .layers = 0}).where, "model.layers");
  EXPECT_EQ(problem_of({.name = "gpt2_124m", .context = 0}).where, "model.context");
  EXPECT_EQ(problem_of({.name = "resnet", .blocks = {}}).where, "model.blocks");
  EXPECT_EQ(problem_of({.name = "resnet", .blocks = {2, 0}}).where, "model.blocks");
  EXPECT_EQ(problem_of({.name = "resnet8", .width = 0}).where, "model.width");
  EXPECT_EQ(problem_of({.name = "resnet8", .image = {28, 0, 1}}).where, "image");
  EXPECT_EQ(problem_of({.name = "resnet8"}, 0).where, "micro_batch");
}

// Batch statistics would count twice: refused, with the models that can.
TEST(RegistryTest, RecomputesTheBlocksOfTransformersOnly) {
  for (const auto& name : model_names()) {
    const ModelSpec spec{.name = name, .recompute_blocks = true};
    if (can_recompute(spec)) {
      EXPECT_TRUE(name.starts_with("gpt")) << name;
      EXPECT_NO_THROW(make_model(spec, 1)) << name;
      continue;
    }
    const auto problem = problem_of(spec);
    EXPECT_EQ(problem.where, "train.recompute");
    EXPECT_THAT(problem.expected, HasSubstr("gpt2_124m"));
  }
}

}  // namespace
}  // namespace tandem
