#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {

void PrintTo(const BatchNormSpec& s, std::ostream* out) {
  *out << fmt::format("rows {} C {} statistics {} tail {}", s.rows, s.C, static_cast<int>(s.statistics),
                      static_cast<int>(s.tail));
}

namespace {

using Doubles = std::vector<double>;

// The op with everything it reads and writes.
struct Fixture {
  explicit Fixture(const BatchNormSpec& s) : spec(s), op(make_cpu_batch_norm(s)) {
    const Shape shape{s.rows, s.C};
    x = HostTensor::random(shape, 1, -2.0f, 3.0f);
    residual = HostTensor::random(shape, 2);
    scale = HostTensor::random({s.C}, 3, 0.5f, 1.5f);
    bias = HostTensor::random({s.C}, 4);
    running_mean = HostTensor::random({s.C}, 5);
    running_variance = HostTensor::random({s.C}, 6, 0.5f, 2.0f);
    y = HostTensor::unwritten(shape);
    dx = HostTensor::unwritten(shape);
    d_residual = HostTensor::unwritten(shape);
    d_scale = HostTensor::unwritten({s.C});
    d_bias = HostTensor::unwritten({s.C});
    dy = HostTensor::random(shape, 7);
    saved = HostTensor::opaque(op->saved_bytes());
    workspace = HostTensor::opaque(op->workspace_bytes());
  }

  bool adds() const { return spec.tail == NormTail::AddRelu; }
  TensorView residual_view() const { return adds() ? residual.view() : TensorView(); }
  BatchNormParameters parameters() const {
    return {scale.view(), bias.view(), running_mean.view(), running_variance.view()};
  }
  void forward_train() {
    op->forward_train(stream, x.view(), residual_view(), parameters(), y.view(), saved.view(),
                      workspace.view());
    stream.synchronize();
  }
  void forward_evaluate() {
    op->forward_evaluate(stream, x.view(), residual_view(), parameters(), y.view());
    stream.synchronize();
  }
  BatchNorm::Backward backward_tensors() const {
    return {.dy = {dy.view(), {}},
            .x = x.view(),
            .saved = saved.view(),
            .dx = dx.view(),
            .d_residual = adds() ? d_residual.view() : TensorView(),
            .d_scale = {d_scale.view(), GradMode::Overwrite},
            .d_bias = {d_bias.view(), GradMode::Overwrite},
            .workspace = workspace.view()};
  }
  void backward(const BatchNorm::Backward& tensors) {
    op->backward(stream, parameters(), tensors);
    stream.synchronize();
  }

  BatchNormSpec spec;
  std::unique_ptr<BatchNorm> op;
  HostTensor x, residual, scale, bias, running_mean, running_variance, y;
  HostTensor dy, dx, d_residual, d_scale, d_bias, saved, workspace;
  CpuStream stream;
};

Doubles batch_mean(const HostTensor& x, std::int64_t rows, std::int64_t channels) {
  Doubles mean(static_cast<std::size_t>(channels), 0.0);
  for (std::int64_t i = 0; i < x.elements(); ++i) mean[static_cast<std::size_t>(i % channels)] += x[i];
  for (double& value : mean) value /= static_cast<double>(rows);
  return mean;
}

// Around `mean`, divided by `divisor`.
Doubles batch_variance(const HostTensor& x, const Doubles& mean, double divisor) {
  Doubles variance(mean.size(), 0.0);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto c = static_cast<std::size_t>(i) % mean.size();
    variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) / divisor;
  }
  return variance;
}

Doubles normalized(const Fixture& f, const Doubles& mean, const Doubles& variance, double epsilon) {
  Doubles y;
  for (std::int64_t i = 0; i < f.x.elements(); ++i) {
    const std::int64_t channel = i % f.spec.C;
    const auto c = static_cast<std::size_t>(channel);
    double z = f.scale[channel] * (f.x[i] - mean[c]) / std::sqrt(variance[c] + epsilon) + f.bias[channel];
    if (f.adds()) z += f.residual[i];
    y.push_back(f.spec.tail == NormTail::None ? z : std::max(z, 0.0));
  }
  return y;
}

Doubles doubles_of(const HostTensor& tensor) {
  const auto values = tensor.values();
  return Doubles(values.begin(), values.end());
}

Doubles with_running(const Fixture& f) {
  if (f.spec.statistics == NormStatistics::Identity) {
    const auto channels = static_cast<std::size_t>(f.spec.C);
    return normalized(f, Doubles(channels, 0.0), Doubles(channels, 1.0), 0.0);
  }
  return normalized(f, doubles_of(f.running_mean), doubles_of(f.running_variance),
                    static_cast<double>(f.spec.epsilon));
}

class BatchNormTest
    : public ::testing::TestWithParam<std::tuple<std::pair<int, int>, NormStatistics, NormTail>> {
 protected:
  static BatchNormSpec spec() {
    const auto [extents, statistics, tail] = GetParam();
    return {
        .rows = extents.first, .C = extents.second, .statistics = statistics, .tail = tail, .momentum = 0.3f};
  }
  Fixture f_{spec()};
};

TEST_P(BatchNormTest, TrainingForward) {
  f_.forward_train();
  if (f_.spec.statistics != NormStatistics::Batch) {
    expect_close("y", f_.y, with_running(f_), 1e-6);
    return;
  }
  const auto mean = batch_mean(f_.x, f_.spec.rows, f_.spec.C);
  const auto variance = batch_variance(f_.x, mean, static_cast<double>(f_.spec.rows));
  expect_close("y", f_.y, normalized(f_, mean, variance, static_cast<double>(f_.spec.epsilon)), 2e-6);
}

TEST_P(BatchNormTest, RunningStatisticsFollowTheBatchOrStay) {
  const auto mean_before = f_.running_mean.copy();
  const auto variance_before = f_.running_variance.copy();
  f_.forward_train();
  if (f_.spec.statistics != NormStatistics::Batch) {
    expect_same("running mean", f_.running_mean, mean_before);
    expect_same("running variance", f_.running_variance, variance_before);
    return;
  }
  auto mean = batch_mean(f_.x, f_.spec.rows, f_.spec.C);
  auto variance = batch_variance(f_.x, mean, static_cast<double>(f_.spec.rows - 1));
  for (std::size_t c = 0; c < mean.size(); ++c) {
    mean[c] = 0.7 * mean_before.values()[c] + 0.3 * mean[c];
    variance[c] = 0.7 * variance_before.values()[c] + 0.3 * variance[c];
  }
  expect_close("running mean", f_.running_mean, mean, 1e-6);
  expect_close("running variance", f_.running_variance, variance, 1e-6);
}

TEST_P(BatchNormTest, EvaluationUsesRunningStatisticsAndLeavesThem) {
  const auto mean = f_.running_mean.copy();
  f_.forward_evaluate();
  expect_close("y", f_.y, with_running(f_), 1e-6);
  expect_same("running mean", f_.running_mean, mean);
}

TEST_P(BatchNormTest, GradientsAgreeWithDifferences) {
  f_.forward_train();
  f_.backward(f_.backward_tensors());
  const auto loss = [&] {
    f_.forward_train();
    return dot(f_.y, f_.dy);
  };
  // Running statistics move with every forward pass of Batch and are read by none of them.
  expect_gradient("x", f_.x, f_.dx, loss);
  // A step of a channel's scale or bias moves all of its rows, some of them over ReLU's kink: a smaller step
  // moves fewer, and rounding shows more.
  const GradientCheck of_channels{.step = 1e-3f, .tolerance = 1e-2};
  expect_gradient("scale", f_.scale, f_.d_scale, loss, of_channels);
  expect_gradient("bias", f_.bias, f_.d_bias, loss, of_channels);
  if (f_.adds()) expect_gradient("residual", f_.residual, f_.d_residual, loss);
}

TEST_P(BatchNormTest, TwoAddendsAreTheirSum) {
  f_.forward_train();
  auto tensors = f_.backward_tensors();
  // Quarters are exact, and so are their halves, so that two halves add up to the very same gradient.
  for (float& value : f_.dy.values()) value = std::round(8.0f * value) / 4.0f;
  f_.backward(tensors);
  const auto whole_dx = f_.dx.copy(), whole_scale = f_.d_scale.copy(), whole_residual = f_.d_residual.copy();
  const auto half = f_.dy.copy();
  for (float& value : half.values()) value *= 0.5f;
  tensors.dy = {half.view(), half.view()};
  f_.backward(tensors);
  expect_same("dx", f_.dx, whole_dx);
  expect_same("d_scale", f_.d_scale, whole_scale);
  if (f_.adds()) expect_same("d_residual", f_.d_residual, whole_residual);
}

TEST_P(BatchNormTest, GradientOfTheInputMayOverwriteTheOneOfTheOutput) {
  f_.forward_train();
  auto tensors = f_.backward_tensors();
  f_.backward(tensors);
  const auto dx = f_.dx.copy(), d_residual = f_.d_residual.copy();
  tensors.dx = f_.dy.view();
  f_.backward(tensors);
  expect_same("dx", f_.dy, dx);
  if (f_.adds()) expect_same("d_residual", f_.d_residual, d_residual);
}

TEST_P(BatchNormTest, AccumulateAddsExactlyToWhatIsThere) {
  f_.forward_train();
  auto tensors = f_.backward_tensors();
  f_.backward(tensors);
  const auto d_scale = f_.d_scale.copy(), d_bias = f_.d_bias.copy();
  tensors.d_scale.mode = tensors.d_bias.mode = GradMode::Accumulate;
  f_.backward(tensors);
  for (std::int64_t c = 0; c < f_.spec.C; ++c) {
    ASSERT_EQ(f_.d_scale[c], 2.0f * d_scale[c]);
    ASSERT_EQ(f_.d_bias[c], 2.0f * d_bias[c]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BatchNormTest,
    ::testing::Combine(::testing::Values(std::pair(6, 3), std::pair(77, 16), std::pair(3, 5),
                                         std::pair(300, 1), std::pair(40, 300), std::pair(700, 33)),
                       ::testing::Values(NormStatistics::Batch, NormStatistics::Running,
                                         NormStatistics::Identity),
                       ::testing::Values(NormTail::None, NormTail::Relu, NormTail::AddRelu)));

TEST(BatchNorm, KeepsItsDigitsFarFromZero) {
  // A mean a thousand deviations away: squares around zero would lose the variance altogether.
  Fixture f({.rows = 5000, .C = 3, .epsilon = 0.0f});
  for (float& value : f.x.values()) value = 4096.0f + std::round(value * 256.0f) / 256.0f;
  f.forward_train();
  const auto mean = batch_mean(f.x, f.spec.rows, f.spec.C);
  const auto variance = batch_variance(f.x, mean, static_cast<double>(f.spec.rows));
  expect_close("y", f.y, normalized(f, mean, variance, 0.0), 1e-4);  // x - mean: half an ulp of 4096
}

TEST(BatchNorm, ANanPassesReLU) {
  Fixture f({.rows = 4, .C = 2, .statistics = NormStatistics::Running, .tail = NormTail::Relu});
  f.x[2] = std::nanf("");
  f.forward_train();
  EXPECT_TRUE(std::isnan(f.y[2]));
  EXPECT_FALSE(std::isnan(f.y[0]));
  f.forward_evaluate();
  EXPECT_TRUE(std::isnan(f.y[2]));
}

TEST(BatchNorm, IdentityNeedsNoRunningStatistics) {
  Fixture f({.rows = 3, .C = 2, .statistics = NormStatistics::Identity});
  auto parameters = f.parameters();
  parameters.running_mean = parameters.running_variance = {};
  f.op->forward_evaluate(f.stream, f.x.view(), {}, parameters, f.y.view());
  f.stream.synchronize();
  expect_close("y", f.y, with_running(f), 1e-6);
}

TEST(BatchNorm, WrongTensorsThrowAtTheCall) {
  Fixture f({.rows = 4, .C = 3, .tail = NormTail::Relu});
  const HostTensor other({3, 4});
  auto parameters = f.parameters();
  EXPECT_THROW(f.op->forward_train(f.stream, other.view(), {}, parameters, f.y.view(), f.saved.view(), {}),
               Error);
  EXPECT_THROW(f.op->forward_train(f.stream, f.x.view(), f.residual.view(), parameters, f.y.view(),
                                   f.saved.view(), {}),
               Error);
  EXPECT_THROW(f.op->forward_train(f.stream, f.x.view(), {}, parameters, f.y.view(), {}, {}), Error);
  parameters.running_mean = {};
  EXPECT_THROW(f.op->forward_evaluate(f.stream, f.x.view(), {}, parameters, f.y.view()), Error);
  auto tensors = f.backward_tensors();
  tensors.d_residual = f.d_residual.view();
  EXPECT_THROW(f.op->backward(f.stream, f.parameters(), tensors), Error);
  tensors = f.backward_tensors();
  tensors.dy.second = other.view();
  EXPECT_THROW(f.op->backward(f.stream, f.parameters(), tensors), Error);
}

TEST(BatchNorm, SpecsThatCannotRunThrow) {
  EXPECT_THROW((void)make_cpu_batch_norm({.rows = 1, .C = 3}), Error);
  EXPECT_NO_THROW((void)make_cpu_batch_norm({.rows = 1, .C = 3, .statistics = NormStatistics::Running}));
  EXPECT_THROW((void)make_cpu_batch_norm({.rows = 4, .C = 0}), Error);
  EXPECT_THROW((void)make_cpu_batch_norm({.rows = 4, .C = 3, .dtype = DType::BF16}), Error);
  EXPECT_THROW((void)make_cpu_batch_norm({.rows = 4, .C = 3, .epsilon = -1.0f}), Error);
  EXPECT_THROW((void)make_cpu_batch_norm({.rows = 4, .C = 3, .momentum = 1.5f}), Error);
}

}  // namespace
}  // namespace tandem
