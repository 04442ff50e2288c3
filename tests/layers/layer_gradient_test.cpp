#include <gtest/gtest.h>

#include <functional>

#include "layers/attention_layer.h"
#include "layers/conv2d_layer.h"
#include "layers/dropout_layer.h"
#include "layers/embedding_layer.h"
#include "layers/layer_norm_layer.h"
#include "layers/linear_layer.h"
#include "layers/mlp.h"
#include "layers/norm_layer.h"
#include "layers/norm_max_pool_layer.h"
#include "layers/pool_layer.h"
#include "layers/sequential.h"
#include "support/layer_run.h"

namespace tandem {
namespace {

struct Case {
  const char* name;
  std::function<std::unique_ptr<Layer>()> make;
  Shape x;
  GradientCheck check = {};
  FlowsAs flows = FlowsAs::One;
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.name << " of " << test.x.to_string();
}

// For ReLU and maximum. A kink that bends the loss by less than expect_gradient() takes for one costs up to
// half of its bend; with the smaller step, fewer lie within reach.
constexpr GradientCheck kWithKinks{.step = 2e-3f, .tolerance = 0.03};

template <class L, class Options>
std::function<std::unique_ptr<Layer>()> made(const Options& options) {
  return [=] { return std::make_unique<L>(options); };
}

std::unique_ptr<Layer> conv_norm_pool_linear() {
  auto net = std::make_unique<Sequential>();
  net->add("conv", std::make_unique<Conv2dLayer>(Conv2dOptions{.channels = 4, .kernel = 3, .padding = 1}));
  net->add("norm", std::make_unique<NormLayer>(NormOptions{.tail = NormTail::Relu}));
  net->add("pool", std::make_unique<PoolLayer>(PoolOptions::global_average()));
  net->add("fc", std::make_unique<LinearLayer>(LinearOptions{.channels = 3}));
  return net;
}

std::vector<Case> cases() {
  const Conv2dOptions strided{.channels = 5, .kernel = 3, .stride = 2, .padding = 1};
  const PoolOptions maximum{.kind = PoolKind::Max, .window = 3, .stride = 2, .padding = 1};
  const PoolOptions average{.kind = PoolKind::Average, .window = 2, .stride = 2};
  const LinearOptions linear{.channels = 5};
  const DropoutOptions dropout{.probability = 0.4f, .seed = 3, .rows_per_sample = 2};
  const AttentionOptions attention{.heads = 2, .sequence = 5};
  const auto norm = [](NormStatistics statistics, NormTail tail) {
    return made<NormLayer>(NormOptions{.statistics = statistics, .tail = tail});
  };
  const auto layer_norm = [] { return std::make_unique<LayerNormLayer>(); };
  std::vector<Case> all = {
      {"conv", made<Conv2dLayer>(strided), {2, 5, 7, 3}},
      {"batch_norm", norm(NormStatistics::Batch, NormTail::None), {3, 4, 4, 5}},
      {"batch_norm_relu", norm(NormStatistics::Batch, NormTail::Relu), {3, 4, 4, 5}, kWithKinks},
      {"frozen_norm", norm(NormStatistics::Running, NormTail::Relu), {3, 4, 4, 5}, kWithKinks},
      {"no_norm", norm(NormStatistics::Identity, NormTail::Relu), {3, 4, 4, 5}, kWithKinks},
      {"max_pool", made<PoolLayer>(maximum), {2, 5, 7, 3}, kWithKinks},
      {"norm_max_pool", made<NormMaxPoolLayer>(NormMaxPoolOptions{}), {2, 5, 7, 3}, kWithKinks},
      {"average_pool", made<PoolLayer>(average), {2, 4, 6, 3}},
      {"global_average", made<PoolLayer>(PoolOptions::global_average()), {2, 4, 6, 3}},
      {"linear", made<LinearLayer>(linear), {6, 7}},
      {"linear_without_bias",
       made<LinearLayer>(LinearOptions{.channels = 5, .tail = LinearTail::None}),
       {6, 7}},
      {"mlp", made<Mlp>(MlpOptions{.hidden = 9, .deviation = 0.4f, .projection_deviation = 0.4f}), {6, 7}},
      {"layer_norm", layer_norm, {6, 8}},
      {"attention", made<AttentionLayer>(attention), {10, 8}},
      {"dropout", made<DropoutLayer>(dropout), {6, 7}},
      {"sequence", conv_norm_pool_linear, {3, 4, 4, 2}, kWithKinks},
  };
  const auto single = all.size();
  for (std::size_t i = 0; i < single; ++i) {
    all.push_back(all[i]);
    all.back().flows = FlowsAs::Sum;
  }
  return all;
}

class LayerGradientTest : public ::testing::TestWithParam<Case> {};

TEST_P(LayerGradientTest, EqualsDifferences) {
  LayerRun layer(GetParam().make(), HostTensor::random(GetParam().x, 11), GetParam().flows);
  layer.run().scatter_parameters(0.3f, 40);
  expect_layer_gradients(layer, GetParam().check);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerGradientTest, ::testing::ValuesIn(cases()), [](const auto& test) {
  return std::string(test.param.name) + (test.param.flows == FlowsAs::Sum ? "_of_sums" : "");
});

TEST(EmbeddingLayerTest, GradientsEqualDifferences) {
  const EmbeddingOptions options{.vocabulary = 6, .stored_vocabulary = 8, .positions = 7, .channels = 3};
  LayerRun layer(std::make_unique<EmbeddingLayer>(options),
                 HostTensor::of<std::int32_t>({2, 4}, {5, 0, 1, 5, 5, 2, 3, 1}));
  expect_layer_gradients(layer);
}

TEST(EmbeddingLayerTest, TokenInThePaddingIsRefused) {
  const EmbeddingOptions options{.vocabulary = 6, .stored_vocabulary = 8, .positions = 7, .channels = 3};
  LayerRun layer(std::make_unique<EmbeddingLayer>(options), HostTensor::of<std::int32_t>({1, 2}, {0, 6}));
  EXPECT_THROW(layer.forward(Mode::Evaluate), Error);
}

}  // namespace
}  // namespace tandem
