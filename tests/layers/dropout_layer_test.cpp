#include "layers/dropout_layer.h"

#include <gtest/gtest.h>

#include "support/layer_run.h"

namespace tandem {
namespace {

constexpr std::int64_t kSamples = 6;
constexpr std::int64_t kRowsPerSample = 8;
constexpr std::int64_t kChannels = 50;
constexpr float kProbability = 0.25f;

class DropoutLayerTest : public ::testing::Test {
 protected:
  static LayerRun make() {
    return LayerRun(std::make_unique<DropoutLayer>(DropoutOptions{
                        .probability = kProbability, .seed = 9, .rows_per_sample = kRowsPerSample}),
                    HostTensor::random({kSamples * kRowsPerSample, kChannels}, 2, 1.0f, 2.0f));
  }
};

TEST_F(DropoutLayerTest, EvaluationChangesNothing) {
  auto layer = make();
  expect_same("y", layer.forward(Mode::Evaluate), layer.x());
}

TEST_F(DropoutLayerTest, KeptElementsAreScaledAndTheShareIsRight) {
  auto layer = make();
  const auto y = layer.forward(Mode::Train);
  std::int64_t dropped = 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    if (y[i] == 0.0f) {
      ++dropped;
    } else {
      ASSERT_FLOAT_EQ(y[i], layer.x()[i] / (1.0f - kProbability)) << i;
    }
  }
  // 2,400 draws: five standard deviations of the share are 0.044.
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(y.elements()), kProbability, 0.044);
}

TEST_F(DropoutLayerTest, GradientMeetsTheSameMask) {
  auto layer = make();
  const auto y = layer.forward(Mode::Train);
  const auto dy = HostTensor::random(layer.y_shape(), 3, 1.0f, 2.0f);
  const auto dx = layer.backward(dy);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    if (y[i] == 0.0f) {
      ASSERT_EQ(dx[i], 0.0f) << i;
    } else {
      ASSERT_FLOAT_EQ(dx[i], dy[i] / (1.0f - kProbability)) << i;
    }
  }
}

// Whichever rank has a sample, and in whichever place of its batch.
TEST_F(DropoutLayerTest, MaskBelongsToThePositionInTheRun) {
  auto layer = make();
  const auto before = layer.forward(Mode::Train);
  std::swap(layer.positions()[0], layer.positions()[kSamples - 1]);
  const auto after = layer.forward(Mode::Train);
  const auto per_sample = kRowsPerSample * kChannels;
  const auto last = (kSamples - 1) * per_sample;
  int moved = 0;
  for (std::int64_t i = 0; i < per_sample; ++i) {
    ASSERT_EQ(after[i] == 0.0f, before[last + i] == 0.0f) << i;
    ASSERT_EQ(after[last + i] == 0.0f, before[i] == 0.0f) << i;
    moved += (after[i] == 0.0f) != (before[i] == 0.0f);
    ASSERT_EQ(after[per_sample + i], before[per_sample + i]) << i;
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace tandem
