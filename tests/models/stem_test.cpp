// The stem over blocks of pixels against the plain one.
#include <gtest/gtest.h>

#include "models/resnet.h"
#include "support/model_run.h"

namespace tandem {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kClasses = 5;

Model make_model(ImageConv2dForm form, const Shape& images) {
  const ResNetSpec spec{.blocks = {1},
                        .stem = ResNetStem::ImageNet,
                        .stem_form = form,
                        .width = 4,
                        .classes = kClasses,
                        .input = {.mean = {0.4f, 0.5f, 0.6f}, .deviation = {0.2f, 0.25f, 0.3f}}};
  return Model({DType::U8, images, kBatch}, make_resnet(spec),
               std::make_unique<LossLayer>(LossOptions{.classes = kClasses}));
}

// A net with its optimizer, on one batch.
class Training {
 public:
  Training(ImageConv2dForm form, const Shape& images) : model_(make_model(form, images)) {
    std::int64_t i = 0;
    const auto noise = HostTensor::random(images, 8, 0.0f, 255.99f);
    for (auto& pixel : model_.batch().values<std::uint8_t>()) pixel = static_cast<std::uint8_t>(noise[i++]);
    for (auto& target : model_.targets().values<std::int32_t>()) {
      target = static_cast<std::int32_t>(i++ % kClasses);
    }
    const auto bytes = bytes_of(store().layout().total(), DType::F32);
    momentum_ = Buffer(model_.run().device.memory(), bytes);
    model_.run().stream->zero(momentum_.data(), bytes);
    model_.run().stream->synchronize();  // a test may end before a step does
    model_.inputs().learning_rate = 0.05f;
    sgd_ = model_.backend().make_sgd(
        {.momentum = 0.9f,
         .nesterov = true,
         .segments = {{.begin = 0, .end = store().layout().total().value(), .weight_decay = 0.01f}}});
  }

  double step() {
    const auto loss = model_.pass(Mode::Train).loss_sum;
    const auto everything = store().everything();
    UpdateRange range{.master = store().masters(everything), .gradient = store().gradients(everything)};
    range.state[0] = momentum_.view(ByteCount(0), DType::F32, {store().layout().total().value()});
    sgd_->step(*model_.run().stream, range, model_.pointers());
    model_.run().stream->synchronize();
    return loss;
  }

  ParameterStore& store() { return model_.run().store; }
  const ParameterSpec& filter_spec() { return store().layout().spec(filter()); }
  ParamId filter() { return model_.run().parameter("conv1.weight"); }
  HostTensor canonical_filter() {
    HostTensor values(filter_spec().canonical);
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      values[i] = store().master(filter()).data<float>()[stored_index(filter_spec(), i)];
    }
    return values;
  }

 private:
  ModelRun model_;
  Buffer momentum_;
  std::unique_ptr<OptimizerUpdate> sgd_;
};

class StemTest : public ::testing::TestWithParam<std::pair<int, int>> {};

// Five steps of SGD with momentum and decay end in the same weights, and nothing has crept into the padding,
// under whose extra row and column lie real pixels.
TEST_P(StemTest, BlocksTrainAsPixels) {
  const Shape images{kBatch, GetParam().first, GetParam().second, 3};
  Training plain(ImageConv2dForm::Plain, images), blocks(ImageConv2dForm::SpaceToDepth, images);
  ASSERT_EQ(plain.filter_spec().stored, Shape({4, 7, 7, 3}));
  ASSERT_EQ(blocks.filter_spec().stored, Shape({4, 4, 4, 16}));
  const auto start = plain.canonical_filter();
  expect_same("first weights", blocks.canonical_filter(), start);
  for (int step = 0; step < 5; ++step) {
    const auto expected = plain.step();
    EXPECT_NEAR(blocks.step(), expected, 1e-4 * expected) << "step " << step;
  }
  const auto trained = plain.canonical_filter();
  expect_close("weights", blocks.canonical_filter(), trained, 1e-4);
  double moved = 0.0;
  for (std::int64_t i = 0; i < start.elements(); ++i)
    moved = std::max<double>(moved, std::abs(trained[i] - start[i]));
  EXPECT_GT(moved, 1e-3);

  const BlockedFilter filter{.K = 4, .C = 3, .R = 7, .S = 7, .stored_channels = 16};
  const auto weights = blocks.store().master(blocks.filter());
  const auto gradient = blocks.store().gradient(blocks.filter());
  for (std::int64_t i = 0; i < filter.stored().elements().value(); ++i) {
    if (filter.is_weight(i)) continue;
    ASSERT_EQ(weights.data<float>()[i], 0.0f) << i;
    ASSERT_EQ(gradient.data<float>()[i], 0.0f) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(EvenAndOdd, StemTest,
                         ::testing::Values(std::pair(16, 12), std::pair(15, 16), std::pair(13, 17)),
                         [](const auto& test) {
                           return fmt::format("{}x{}", test.param.first, test.param.second);
                         });

TEST(StemFormTest, TheCpuTakesPixels) {
  Training chosen(ImageConv2dForm::AsTheBackendPrefers, {kBatch, 16, 16, 3});
  EXPECT_EQ(chosen.filter_spec().stored, Shape({4, 7, 7, 3}));
}

}  // namespace
}  // namespace tandem
