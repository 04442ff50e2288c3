#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

TrainingState measure(const HostTensor& gradients, float clip_norm, float loss_scale = 1.0f) {
  CpuStream stream;
  TrainingState training{.loss_scale = loss_scale};
  const auto op = make_cpu_gradient_norm({.elements = gradients.elements(), .clip_norm = clip_norm});
  op->measure(stream, gradients.view(), {.training = &training}, {});
  stream.synchronize();
  return training;
}

TEST(GradientNorm, IsTheNormOfUnscaledGradients) {
  const auto gradients = HostTensor::random({10007}, 1);
  const double expected = std::sqrt(dot(gradients, gradients));
  EXPECT_FLOAT_EQ(measure(gradients, 0.0f).gradient_norm, static_cast<float>(expected));
  EXPECT_FLOAT_EQ(measure(gradients, 0.0f, 64.0f).gradient_norm, static_cast<float>(expected / 64.0));
}

TEST(GradientNorm, ClipsAsPyTorchDoes) {
  const auto gradients = HostTensor::of<float>({3}, {6.0f, 0.0f, 8.0f});  // norm 10
  EXPECT_EQ(measure(gradients, 0.0f).clip_factor, 1.0f);                  // no clipping
  EXPECT_EQ(measure(gradients, 100.0f).clip_factor, 1.0f);
  EXPECT_EQ(measure(gradients, 2.0f).clip_factor, static_cast<float>(2.0 / (10.0 + 1e-6)));
  EXPECT_EQ(measure(gradients, 2.0f, 4.0f).clip_factor, static_cast<float>(2.0 / (2.5 + 1e-6)));
  EXPECT_EQ(measure(HostTensor({3}), 2.0f).clip_factor, 1.0f);  // all gradients zero
}

TEST(GradientNorm, FindsAnyNonFiniteGradient) {
  for (const float wrong : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t where : {0, 5, 8, 17}) {  // first, within, and in the short last group
      const auto gradients = HostTensor::random({18}, 1);
      gradients[where] = wrong;
      const auto training = measure(gradients, 1.0f);
      EXPECT_EQ(training.finite, 0) << wrong << " at " << where;
      EXPECT_EQ(training.clip_factor, 1.0f);
      EXPECT_FALSE(std::isfinite(training.gradient_norm));
    }
  }
}

TEST(GradientNorm, LargestFiniteGradientsAreFinite) {
  const HostTensor gradients({1000});
  for (float& value : gradients.values()) value = std::numeric_limits<float>::max();
  const auto training = measure(gradients, 1.0f);
  EXPECT_EQ(training.finite, 1);
  EXPECT_FALSE(std::isnan(training.clip_factor));
}

TEST(GradientNorm, FiniteIsSetAgainAfterASkippedStep) {
  CpuStream stream;
  TrainingState training{.finite = 0};
  const auto gradients = HostTensor::random({18}, 1);
  const auto op = make_cpu_gradient_norm({.elements = 18, .clip_norm = 1.0f});
  op->measure(stream, gradients.view(), {.training = &training}, {});
  stream.synchronize();
  EXPECT_EQ(training.finite, 1);
}

// The order of sums must not follow the memory's alignment: ranks must agree to the bit.
TEST(GradientNorm, DoesNotDependOnAlignment) {
  const auto gradients = HostTensor::random({4003}, 3);
  const HostTensor moved({4003 + 16});
  const auto expected = measure(gradients, 0.5f);
  for (std::int64_t offset = 1; offset < 16; ++offset) {
    std::ranges::copy(gradients.values(), moved.values().begin() + offset);
    CpuStream stream;
    TrainingState training;
    const auto op = make_cpu_gradient_norm({.elements = 4003, .clip_norm = 0.5f});
    op->measure(stream, TensorView(moved.view().data<float>() + offset, DType::F32, {4003}),
                {.training = &training}, {});
    stream.synchronize();
    ASSERT_EQ(training.gradient_norm, expected.gradient_norm);
    ASSERT_EQ(training.clip_factor, expected.clip_factor);
  }
}

TEST(GradientNorm, WrongTensorsAndSpecsThrow) {
  CpuStream stream;
  TrainingState training;
  const auto op = make_cpu_gradient_norm({.elements = 4});
  const HostTensor five({5}), four({4});
  EXPECT_THROW(op->measure(stream, five.view(), {.training = &training}, {}), Error);
  EXPECT_THROW(op->measure(stream, four.view(), {}, {}), Error);
  EXPECT_THROW((void)make_cpu_gradient_norm({.elements = 4, .clip_norm = -1.0f}), Error);
}

}  // namespace
}  // namespace tandem
