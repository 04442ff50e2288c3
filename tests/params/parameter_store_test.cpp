#include "params/parameter_store.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_stream.h"

namespace tandem {
namespace {

ParameterLayout two_parameters() {
  const std::vector<std::size_t> starts{0};
  return {{{.name = "w", .canonical = {300, 4}, .stored = {301, 4}, .initializer = Initializer::normal(0.5f)},
           {.name = "b",
            .canonical = {4},
            .stored = {4},
            .group = OptimizerGroup::NormAndBias,
            .initializer = Initializer::constant(3.0f)}},
          {{0}, {1}},
          starts};
}

TEST(ParameterStore, InitializesParametersBuffersAndPadding) {
  CpuDevice device;
  CpuStream stream;
  ParameterStore store(device, two_parameters(), {{"mean", {5}, 0.25f}}, {.optimizer_states = 2});
  store.initialize(1, stream);
  const auto* w = store.master({0}).data<float>();
  double squares = 0;
  for (int i = 0; i < 1200; ++i) squares += static_cast<double>(w[i]) * w[i];
  EXPECT_NEAR(std::sqrt(squares / 1200), 0.5, 0.05);
  for (int i = 1200; i < 1204; ++i) EXPECT_EQ(w[i], 0.0f);  // the padded row
  for (int i = 0; i < 4; ++i) EXPECT_EQ(store.master({1}).data<float>()[i], 3.0f);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(store.buffer({0}).data<float>()[i], 0.25f);
  const auto moments = store.optimizer_state(1, store.everything());
  for (std::int64_t i = 0; i < moments.elements().value(); ++i) ASSERT_EQ(moments.data<float>()[i], 0.0f);
}

TEST(ParameterStore, GivesTheMasterToKernelsWhereThereIsNoWorkingCopy) {
  CpuDevice device;
  ParameterStore store(device, two_parameters(), {}, {});
  EXPECT_EQ(store.weight({0}).raw(), store.master({0}).raw());
  EXPECT_TRUE(store.working(store.everything()).empty());
  EXPECT_TRUE(store.all_buffers().empty());
}

TEST(ParameterStore, SeedsGiveTheSameValuesAgainAndOthersElse) {
  CpuDevice device;
  CpuStream stream;
  ParameterStore first(device, two_parameters(), {}, {});
  ParameterStore second(device, two_parameters(), {}, {});
  first.initialize(1, stream);
  second.initialize(1, stream);
  EXPECT_EQ(first.master({0}).data<float>()[17], second.master({0}).data<float>()[17]);
  second.initialize(2, stream);
  EXPECT_NE(first.master({0}).data<float>()[17], second.master({0}).data<float>()[17]);
}

}  // namespace
}  // namespace tandem
