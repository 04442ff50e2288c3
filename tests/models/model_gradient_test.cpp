#include <gtest/gtest.h>

#include "models/gpt.h"
#include "models/resnet.h"
#include "support/layer_run.h"

namespace tandem {
namespace {

HostTensor random_images(const Shape& shape) {
  HostTensor images(shape, DType::U8);
  const auto noise = HostTensor::random(shape, 8, 0.0f, 255.0f);
  for (std::int64_t i = 0; i < noise.elements(); ++i) {
    images.values<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(noise[i]);
  }
  return images;
}

// Kinks that bend the loss by less than a twentieth pass for smooth, and cost up to half of it; several
// layers behind each weight have such kinks.
constexpr GradientCheck kNetworkOfKinks{.step = 1e-3f, .tolerance = 0.04, .samples = 24};

struct ResNetCase {
  const char* name;
  ResNetSpec spec;
};
void PrintTo(const ResNetCase& test, std::ostream* out) {
  *out << test.name;
}

class ResNetGradientTest : public ::testing::TestWithParam<ResNetCase> {};

TEST_P(ResNetGradientTest, EqualsDifferences) {
  LayerRun net(make_resnet(GetParam().spec), random_images({3, 10, 8, 2}));
  net.run().scatter_parameters(0.1f, 60);
  expect_layer_gradients(net, kNetworkOfKinks);
}

// Not with batch statistics: there every weight moves every activation, and some ReLU is always on its kink.
// Those are compared with PyTorch's gradients in tests/golden.
INSTANTIATE_TEST_SUITE_P(
    Specs, ResNetGradientTest,
    ::testing::Values(ResNetCase{"basic_none",
                                 {.blocks = {1, 1}, .width = 4, .classes = 3, .norm = ResNetNorm::None}},
                      ResNetCase{"bottleneck_frozen",
                                 {.blocks = {2},
                                  .block = ResidualKind::Bottleneck,
                                  .width = 2,
                                  .classes = 3,
                                  .norm = ResNetNorm::Frozen}},
                      ResNetCase{"imagenet_stem",
                                 {.blocks = {1},
                                  .stem = ResNetStem::ImageNet,
                                  .width = 4,
                                  .classes = 3,
                                  .norm = ResNetNorm::None}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ResidualBlockTest, TakesAndReturnsSums) {
  for (const std::int64_t stride : {1, 2}) {
    const ResidualOptions options{.channels = 3, .stride = stride, .norm = ResNetNorm::None};
    LayerRun block(std::make_unique<ResidualBlock>(options, 3), HostTensor::random({2, 4, 4, 3}, 4),
                   FlowsAs::Sum);
    block.run().scatter_parameters(0.1f, 60);
    expect_layer_gradients(block, kNetworkOfKinks);
  }
}

constexpr GptSpec kTinyGpt{.layers = 2, .heads = 2, .channels = 8, .context = 5, .vocabulary = 11};

class GptGradientTest : public ::testing::TestWithParam<float> {};

TEST_P(GptGradientTest, EqualsDifferences) {
  auto spec = kTinyGpt;
  spec.dropout = GetParam();
  LayerRun net(std::make_unique<Gpt>(spec),
               HostTensor::of<std::int32_t>({2, 5}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 10}));
  net.run().scatter_parameters(0.3f, 60);
  // Smooth, but curved: six non-linear ops in a row.
  expect_layer_gradients(net, {.step = 3e-3f, .tolerance = 1e-2, .samples = 24});
}

INSTANTIATE_TEST_SUITE_P(Dropout, GptGradientTest, ::testing::Values(0.0f, 0.3f));

TEST(GptBlockTest, TakesAndReturnsSums) {
  LayerRun block(std::make_unique<GptBlock>(kTinyGpt), HostTensor::random({10, 8}, 4), FlowsAs::Sum);
  block.run().scatter_parameters(0.3f, 60);
  expect_layer_gradients(block, {.step = 3e-3f, .tolerance = 1e-2});
}

}  // namespace
}  // namespace tandem
