#include "params/gradient_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "device/cpu/cpu_device.h"

namespace tandem {
namespace {

class Listener final : public GradReady {
 public:
  void ready(ParamId parameter) override { heard.push_back(parameter.index); }
  std::vector<int> heard;
};

class GradientSinkTest : public ::testing::Test {
 protected:
  static ParameterLayout layout() {
    const std::vector<std::size_t> starts{0};
    return {{{.name = "tied", .canonical = {4}, .stored = {4}},
             {.name = "plain", .canonical = {4}, .stored = {4}}},
            {{1}, {0}},
            starts};
  }
  CpuDevice device_;
  ParameterStore store_{device_, layout(), {}, {}};
  Listener listener_;
};

TEST_F(GradientSinkTest, TiedWeightsOverwriteFirstThenAddAndAreReadyAfterTheLastUse) {
  GradientSink sink(store_, {2, 1}, {});
  sink.set_listener(listener_);
  for (int step = 0; step < 2; ++step) {
    listener_.heard.clear();
    sink.begin_micro_batch(0, 1);
    EXPECT_EQ(sink.begin({0}).mode, GradMode::Overwrite);
    sink.end({0});
    EXPECT_TRUE(listener_.heard.empty());
    EXPECT_EQ(sink.begin({1}).mode, GradMode::Overwrite);
    sink.end({1});
    EXPECT_EQ(sink.begin({0}).mode, GradMode::Accumulate);
    sink.end({0});
    EXPECT_EQ(listener_.heard, (std::vector<int>{1, 0}));
  }
}

TEST_F(GradientSinkTest, MicroBatchesAddUpAndOnlyTheLastIsReady) {
  GradientSink sink(store_, {1, 1}, {});
  sink.set_listener(listener_);
  for (int micro = 0; micro < 3; ++micro) {
    sink.begin_micro_batch(micro, 3);
    EXPECT_EQ(sink.begin({0}).mode, micro == 0 ? GradMode::Overwrite : GradMode::Accumulate);
    sink.end({0});
    EXPECT_EQ(listener_.heard.size(), micro == 2 ? 1u : 0u);
  }
}

TEST_F(GradientSinkTest, SixteenBitGradientsAreCastFromTheFp32SumOnce) {
  ParameterStore store(device_, layout(), {}, {.gradient = DType::BF16, .micro_gradient_sums = true});
  int casts = 0;
  GradientSink sink(store, {1, 1}, [&](TensorView sum, TensorView gradient) {
    ++casts;
    EXPECT_EQ(sum.dtype(), DType::F32);
    EXPECT_EQ(gradient.dtype(), DType::BF16);
  });
  for (int micro = 0; micro < 2; ++micro) {
    sink.begin_micro_batch(micro, 2);
    EXPECT_EQ(sink.begin({0}).view.dtype(), DType::F32);
    sink.end({0});
  }
  EXPECT_EQ(casts, 1);
}

TEST_F(GradientSinkTest, RefusesMoreWritesThanPlanned) {
  GradientSink sink(store_, {1, 1}, {});
  sink.begin_micro_batch(0, 1);
  (void)sink.begin({0});
  sink.end({0});
  EXPECT_THROW((void)sink.begin({0}), Error);
}

}  // namespace
}  // namespace tandem
