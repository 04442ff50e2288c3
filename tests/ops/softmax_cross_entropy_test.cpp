#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 6;

class SoftmaxCrossEntropyTest : public ::testing::TestWithParam<SoftmaxCrossEntropySpec> {
 protected:
  void train() {
    op_->train(stream_, logits_.view(), targets_.view(), step(), {});
    stream_.synchronize();
  }
  void evaluate() {
    results_ = {};
    op_->evaluate(stream_, logits_.view(), targets_.view(), step(), {});
    stream_.synchronize();
  }
  StepPointers step() { return {&inputs_, &training_, &results_}; }
  std::int32_t target(std::int64_t row) const {
    return targets_.values<std::int32_t>()[static_cast<std::size_t>(row)];
  }

  double reference_loss() const {
    double loss = 0.0;
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (target(row) == kIgnoredTarget) continue;
      double sum = 0.0;
      for (std::int64_t c = 0; c < spec_.classes; ++c) sum += std::exp(static_cast<double>(logit(row, c)));
      const double smoothing = spec_.label_smoothing;
      loss -= (1.0 - smoothing) * (logit(row, target(row)) - std::log(sum));
      for (std::int64_t c = 0; c < spec_.classes; ++c) {
        loss -= smoothing / static_cast<double>(spec_.classes) * (logit(row, c) - std::log(sum));
      }
    }
    return loss;
  }
  float logit(std::int64_t row, std::int64_t c) const { return logits_[row * spec_.stride + c]; }

  CpuStream stream_;
  SoftmaxCrossEntropySpec spec_ = GetParam();
  std::unique_ptr<SoftmaxCrossEntropy> op_ = make_cpu_softmax_cross_entropy(spec_);
  HostTensor logits_ = HostTensor::random({kRows, spec_.stride}, 1, -3.0f, 3.0f);
  HostTensor targets_ = HostTensor::of<std::int32_t>({kRows}, {0, 2, kIgnoredTarget, 1, 2, kIgnoredTarget});
  StepInputs inputs_{.valid_targets = 10.0f};
  TrainingState training_{.loss_scale = 32.0f};
  StepResults results_;
};

TEST_P(SoftmaxCrossEntropyTest, LossIsSummedOverValidRows) {
  const auto before = logits_.copy();
  evaluate();
  EXPECT_NEAR(results_.loss_sum, reference_loss(), 4e-6);
  EXPECT_EQ(results_.valid_targets, 4);
  expect_same("logits", logits_, before);  // evaluation only reads
  const double evaluated = results_.loss_sum;
  train();  // results add up
  EXPECT_DOUBLE_EQ(results_.loss_sum, 2.0 * evaluated);
  EXPECT_EQ(results_.valid_targets, 8);
}

TEST_P(SoftmaxCrossEntropyTest, TrainLeavesTheGradientOfTheScaledMean) {
  const auto logits = logits_.copy();
  train();
  const auto gradient = logits_.copy();
  std::copy_n(logits.values().begin(), logits.values().size(), logits_.values().begin());
  expect_gradient("logits", logits_, gradient,
                  [&] {
                    evaluate();
                    return training_.loss_scale * results_.loss_sum / inputs_.valid_targets;
                  },
                  {.samples = 1000});
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t c = 0; c < spec_.stride; ++c) {
      if (c >= spec_.classes || target(row) == kIgnoredTarget) {
        ASSERT_EQ(gradient[row * spec_.stride + c], 0.0f) << row << " " << c;
      }
    }
  }
}

TEST_P(SoftmaxCrossEntropyTest, PaddedColumnsTakeNoPart) {
  evaluate();
  const auto expected = results_;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t c = spec_.classes; c < spec_.stride; ++c) logits_[row * spec_.stride + c] = 1e30f;
  }
  evaluate();
  EXPECT_EQ(results_.loss_sum, expected.loss_sum);
  EXPECT_EQ(results_.correct, expected.correct);
}

TEST_P(SoftmaxCrossEntropyTest, CountsATargetWhoseLogitIsTheFirstLargest) {
  // Class 1 leads everywhere but ties with class 2: rows with target 1 are hits, those with target 2 are not.
  for (std::int64_t row = 0; row < kRows; ++row) {
    logits_[row * spec_.stride + 1] = 5.0f;
    logits_[row * spec_.stride + 2] = 5.0f;
  }
  evaluate();
  EXPECT_EQ(results_.correct, 1);
  for (std::int64_t row = 0; row < kRows; ++row) logits_[row * spec_.stride + 2] = 6.0f;
  evaluate();
  EXPECT_EQ(results_.correct, 2);
}

TEST_P(SoftmaxCrossEntropyTest, HugeLogitsStayFinite) {
  for (float& value : logits_.values()) value = 1e4f + std::round(value);  // exact in fp32
  evaluate();
  const double shifted = results_.loss_sum;
  for (float& value : logits_.values()) value -= 1e4f;
  EXPECT_NEAR(shifted, reference_loss(), 4e-6);
  for (float& value : logits_.values()) value *= 1e4f;
  train();
  EXPECT_TRUE(std::isfinite(results_.loss_sum));
  for (const float value : logits_.values()) ASSERT_TRUE(std::isfinite(value));
}

TEST_P(SoftmaxCrossEntropyTest, TargetOutsideTheClassesIsNamed) {
  for (const auto wrong : {static_cast<std::int32_t>(spec_.classes), -2}) {
    CpuStream stream;
    targets_.values<std::int32_t>()[4] = wrong;
    op_->evaluate(stream, logits_.view(), targets_.view(), step(), {});
    try {
      stream.synchronize();
      FAIL() << "target " << wrong << " was taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), ::testing::HasSubstr(fmt::format("target {} of row 4 is outside [0, {})",
                                                                    wrong, spec_.classes)));
    }
  }
}

TEST_P(SoftmaxCrossEntropyTest, StepValuesAreReadWhenTheWorkRuns) {
  const auto logits = logits_.copy();
  train();
  const auto once = logits_.copy();
  std::copy_n(logits.values().begin(), logits.values().size(), logits_.values().begin());
  stream_.enqueue([&] { training_.loss_scale *= 2.0f; });
  train();
  for (std::int64_t i = 0; i < once.elements(); ++i) ASSERT_EQ(logits_[i], 2.0f * once[i]);
}

INSTANTIATE_TEST_SUITE_P(
    Specs, SoftmaxCrossEntropyTest,
    ::testing::Values(SoftmaxCrossEntropySpec{.rows = kRows, .classes = 3, .stride = 3},
                      SoftmaxCrossEntropySpec{.rows = kRows, .classes = 37, .stride = 40},
                      SoftmaxCrossEntropySpec{
                          .rows = kRows, .classes = 37, .stride = 40, .label_smoothing = 0.1f}));

TEST(SoftmaxCrossEntropy, WrongTensorsAndSpecsThrow) {
  CpuStream stream;
  StepResults results;
  const auto op = make_cpu_softmax_cross_entropy({.rows = 2, .classes = 3, .stride = 4});
  const HostTensor logits({2, 4}), unpadded({2, 3}), targets({2}, DType::I32), floats({2});
  const StepPointers step{.results = &results};
  EXPECT_THROW(op->evaluate(stream, unpadded.view(), targets.view(), step, {}), Error);
  EXPECT_THROW(op->evaluate(stream, logits.view(), floats.view(), step, {}), Error);
  EXPECT_THROW(op->evaluate(stream, logits.view(), targets.view(), {}, {}), Error);
  EXPECT_THROW(op->train(stream, logits.view(), targets.view(), step, {}), Error);  // no inputs, no state
  EXPECT_THROW((void)make_cpu_softmax_cross_entropy({.rows = 2, .classes = 3, .stride = 2}), Error);
  EXPECT_THROW(
      (void)make_cpu_softmax_cross_entropy({.rows = 2, .classes = 3, .stride = 3, .label_smoothing = 1.0f}),
      Error);
  EXPECT_THROW(
      (void)make_cpu_softmax_cross_entropy({.rows = 2, .classes = 3, .stride = 3, .dtype = DType::BF16}),
      Error);
}

}  // namespace
}  // namespace tandem
