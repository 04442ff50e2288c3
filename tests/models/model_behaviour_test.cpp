#include <gtest/gtest.h>

#include <cmath>

#include "models/registry.h"
#include "support/model_run.h"

namespace tandem {
namespace {

constexpr std::int64_t kBatch = 3;

std::uint32_t number(std::uint32_t seed, std::int64_t i) {
  return philox(philox_key(seed, RandomUse::Synthetic), static_cast<std::uint64_t>(i)).word[0];
}

// Number i of the stream `seed`, below `bound`.
std::int32_t draw(std::uint32_t seed, std::int64_t i, std::int64_t bound) {
  return static_cast<std::int32_t>(uniform_below(number(seed, i), static_cast<std::uint32_t>(bound)));
}

void fill_images(ModelRun& model, std::int64_t classes) {
  std::int64_t i = 0;
  for (auto& pixel : model.batch().values<std::uint8_t>())
    pixel = static_cast<std::uint8_t>(draw(1, i++, 256));
  for (auto& target : model.targets().values<std::int32_t>()) target = draw(2, i++, classes);
}

void fill_tokens(ModelRun& model, std::int64_t vocabulary) {
  std::int64_t i = 0;
  for (auto& token : model.batch().values<std::int32_t>()) token = draw(3, i++, vocabulary);
  for (auto& target : model.targets().values<std::int32_t>()) target = draw(4, i++, vocabulary);
  if (model.positions().view().empty()) return;
  for (auto& position : model.positions().values<std::int64_t>()) position = i++;
}

ModelSpec tiny_gpt() {
  return {.name = "gpt", .layers = 2, .heads = 2, .channels = 8, .context = 6, .vocab = 13};
}

TEST(NormFreeModelTest, EvaluationEqualsTraining) {
  for (const auto norm : {ResNetNorm::None, ResNetNorm::Frozen}) {
    ModelRun model(make_model({.name = "resnet8", .width = 4, .norm = norm, .image = {12, 12, 1}}, kBatch));
    fill_images(model, 10);
    const auto train = model.pass(Mode::Train);
    const auto evaluate = model.pass(Mode::Evaluate);
    EXPECT_EQ(train.loss_sum, evaluate.loss_sum);
    EXPECT_EQ(train.correct, evaluate.correct);
    EXPECT_EQ(train.valid_targets, kBatch);
    EXPECT_TRUE(std::isfinite(train.loss_sum));
  }
  ModelRun gpt(make_model(tiny_gpt(), kBatch));
  fill_tokens(gpt, 13);
  EXPECT_EQ(gpt.pass(Mode::Train).loss_sum, gpt.pass(Mode::Evaluate).loss_sum);
}

TEST(BatchNormModelTest, TrainingMovesRunningStatisticsAndEvaluationReadsThem) {
  ModelRun model(make_model({.name = "resnet8", .width = 4, .image = {12, 12, 1}}, kBatch));
  fill_images(model, 10);
  const auto fresh = model.pass(Mode::Evaluate);
  model.pass(Mode::Train);
  const auto moved = model.pass(Mode::Evaluate);
  EXPECT_NE(fresh.loss_sum, moved.loss_sum);
  EXPECT_EQ(moved.loss_sum, model.pass(Mode::Evaluate).loss_sum) << "evaluation moves nothing";
}

TEST(FrozenNormModelTest, TrainingLeavesRunningStatistics) {
  ModelRun model(
      make_model({.name = "resnet8", .width = 4, .norm = ResNetNorm::Frozen, .image = {12, 12, 1}}, kBatch));
  fill_images(model, 10);
  const auto before = snapshot(model.run().store.all_buffers());
  model.pass(Mode::Train);
  expect_same("buffers", snapshot(model.run().store.all_buffers()), before);
}

TEST(DropoutModelTest, MasksFollowThePositionAndOnlyInTraining) {
  auto spec = tiny_gpt();
  ModelRun plain(make_model(spec, kBatch));
  spec.dropout = 0.5f;
  spec.seed = 4;
  ModelRun model(make_model(spec, kBatch));
  fill_tokens(plain, 13);
  fill_tokens(model, 13);
  EXPECT_EQ(model.pass(Mode::Evaluate).loss_sum, plain.pass(Mode::Evaluate).loss_sum);
  const auto first = model.pass(Mode::Train);
  EXPECT_NE(first.loss_sum, plain.pass(Mode::Train).loss_sum);
  EXPECT_EQ(first.loss_sum, model.pass(Mode::Train).loss_sum);
  for (auto& position : model.positions().values<std::int64_t>()) position += kBatch;  // the next step
  EXPECT_NE(first.loss_sum, model.pass(Mode::Train).loss_sum);
}

// A padded vocabulary changes memory, never results: same loss, same gradients, zero in the padding.
TEST(PaddedVocabularyTest, EqualsUnpaddedAndItsPaddingHasNoGradient) {
  auto spec = tiny_gpt();
  ModelRun plain(make_model(spec, kBatch));
  spec.padded_vocab = 32;
  ModelRun padded(make_model(spec, kBatch));
  fill_tokens(plain, 13);
  fill_tokens(padded, 13);
  const auto expected = plain.pass(Mode::Train);
  const auto result = padded.pass(Mode::Train);
  EXPECT_NEAR(result.loss_sum, expected.loss_sum, 1e-5 * expected.loss_sum);  // a GEMM of another width
  EXPECT_EQ(result.correct, expected.correct);

  const auto id = padded.run().parameter("wte.weight");
  const auto gradient = snapshot(padded.run().store.gradient(id));
  const auto reference = snapshot(plain.run().store.gradient(id));
  ASSERT_EQ(gradient.shape(), Shape({32, 8}));
  HostTensor real({13, 8});
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    if (i < real.elements()) {
      real[i] = gradient[i];
    } else {
      ASSERT_EQ(gradient[i], 0.0f) << i;
    }
  }
  expect_close("gradient of the table", real, reference, 1e-5);
}

// With the last scales zero, blocks pass on what they get: relu(0 + x) of an x that a ReLU made.
TEST(ZeroInitTest, BlocksStartAsTheIdentity) {
  const auto loss = [](std::vector<std::int64_t> blocks) {
    ModelRun model(make_model({.name = "resnet",
                               .width = 4,
                               .blocks = std::move(blocks),
                               .zero_init_last_scale = true,
                               .image = {8, 8, 1}},
                              kBatch));
    fill_images(model, 10);
    // The head's number differs with the blocks before it, and so do its first values: give it the same.
    auto& run = model.run();
    for (const auto* name : {"fc.weight", "fc.bias"}) {
      const auto view = run.store.master(run.parameter(name));
      const auto values = HostTensor::random(view.shape(), 6);
      std::ranges::copy(values.values(), view.data<float>());
    }
    return model.pass(Mode::Train).loss_sum;
  };
  EXPECT_EQ(loss({1}), loss({3}));
}

// Ten steps of plain gradient descent on one batch must lower the loss: the sign and the scale of gradients.
TEST(ModelTest, DescentLowersTheLoss) {
  const auto descend = [](ModelRun& model) {
    const auto first = model.pass(Mode::Train).loss_sum;
    const auto& store = model.run().store;
    for (int step = 0; step < 10; ++step) {
      for (const auto id : store.layout().ready_order()) {
        float* weights = store.master(id).data<float>();
        const float* gradient = store.gradient(id).data<float>();
        for (std::int64_t i = 0; i < store.master(id).elements().value(); ++i)
          weights[i] -= 0.1f * gradient[i];
      }
      model.pass(Mode::Train);
    }
    return model.pass(Mode::Train).loss_sum / first;
  };
  ModelRun resnet(make_model({.name = "resnet8", .width = 4, .image = {12, 12, 1}}, kBatch));
  fill_images(resnet, 10);
  EXPECT_LT(descend(resnet), 0.8);
  ModelRun gpt(make_model(tiny_gpt(), kBatch));
  fill_tokens(gpt, 13);
  EXPECT_LT(descend(gpt), 0.95);
}

}  // namespace
}  // namespace tandem
