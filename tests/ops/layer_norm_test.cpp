#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

class LayerNormTest : public ::testing::TestWithParam<LayerNormSpec> {
 protected:
  LayerNormTest()
      : op_(make_cpu_layer_norm(spec_)),
        saved_(HostTensor::opaque(op_->saved_bytes())),
        workspace_(HostTensor::opaque(op_->workspace_bytes())) {}

  void forward(bool with_residual) {
    op_->forward(stream_, {.x = {first_.view(), with_residual ? second_.view() : TensorView()},
                           .scale = scale_.view(),
                           .bias = bias_.view(),
                           .sum = with_residual ? sum_.view() : TensorView(),
                           .y = y_.view(),
                           .saved = saved_.view()});
    stream_.synchronize();
  }

  LayerNorm::Backward backward_tensors(GradMode mode) const {
    return {.dy = dy_.view(),
            .x = sum_.view(),
            .scale = scale_.view(),
            .saved = saved_.view(),
            .d_residual = {},
            .dx = dx_.view(),
            .d_scale = {d_scale_.view(), mode},
            .d_bias = {d_bias_.view(), mode},
            .workspace = workspace_.view()};
  }

  std::vector<double> reference(bool with_residual) const {
    std::vector<double> result;
    const auto x = [&](std::int64_t i) {
      return static_cast<double>(first_[i]) + (with_residual ? static_cast<double>(second_[i]) : 0.0);
    };
    for (std::int64_t row = 0; row < spec_.rows; ++row) {
      double mean = 0.0;
      double variance = 0.0;
      const auto C = static_cast<double>(spec_.C);
      for (std::int64_t c = 0; c < spec_.C; ++c) mean += x(row * spec_.C + c) / C;
      for (std::int64_t c = 0; c < spec_.C; ++c) variance += std::pow(x(row * spec_.C + c) - mean, 2) / C;
      for (std::int64_t c = 0; c < spec_.C; ++c) {
        const double normalised = (x(row * spec_.C + c) - mean) / std::sqrt(variance + spec_.epsilon);
        result.push_back(normalised * scale_[c] + bias_[c]);
      }
    }
    return result;
  }

  CpuStream stream_;
  LayerNormSpec spec_ = GetParam();
  Shape rows_{spec_.rows, spec_.C};
  HostTensor first_ = HostTensor::random(rows_, 1);
  HostTensor second_ = HostTensor::random(rows_, 2);
  HostTensor scale_ = HostTensor::random({spec_.C}, 3, 0.5f, 1.5f);
  HostTensor bias_ = HostTensor::random({spec_.C}, 4);
  HostTensor dy_ = HostTensor::random(rows_, 5);
  HostTensor sum_ = HostTensor::unwritten(rows_);
  HostTensor y_ = HostTensor::unwritten(rows_);
  HostTensor dx_ = HostTensor::unwritten(rows_);
  HostTensor d_scale_ = HostTensor::unwritten({spec_.C});
  HostTensor d_bias_ = HostTensor::unwritten({spec_.C});
  std::unique_ptr<LayerNorm> op_;
  HostTensor saved_, workspace_;
};

TEST_P(LayerNormTest, ForwardOfOneTensor) {
  forward(false);
  expect_close("y", y_, reference(false), 2e-6);
}

TEST_P(LayerNormTest, ForwardOfASumWritesTheSum) {
  forward(true);
  expect_close("y", y_, reference(true), 2e-6);
  for (std::int64_t i = 0; i < sum_.elements(); ++i) ASSERT_EQ(sum_[i], first_[i] + second_[i]);
}

TEST_P(LayerNormTest, Gradients) {
  forward(true);
  op_->backward(stream_, backward_tensors(GradMode::Overwrite));
  stream_.synchronize();
  const auto loss = [&] {
    forward(true);
    return dot(y_, dy_);
  };
  expect_gradient("x", first_, dx_, loss);
  expect_gradient("scale", scale_, d_scale_, loss);
  expect_gradient("bias", bias_, d_bias_, loss);
}

TEST_P(LayerNormTest, ResidualGradientIsAddedAndDxMayLieOnEitherInput) {
  forward(true);
  auto tensors = backward_tensors(GradMode::Overwrite);
  op_->backward(stream_, tensors);
  stream_.synchronize();
  const auto residual = HostTensor::random(rows_, 6);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < dx_.elements(); ++i)
    expected.push_back(static_cast<double>(dx_[i]) + residual[i]);
  const auto d_scale = d_scale_.copy();

  const auto on_residual = residual.copy();
  tensors.d_residual = on_residual.view();
  tensors.dx = on_residual.view();
  op_->backward(stream_, tensors);
  const auto on_dy = dy_.copy();
  tensors.d_residual = residual.view();
  tensors.dy = on_dy.view();
  tensors.dx = on_dy.view();
  op_->backward(stream_, tensors);
  stream_.synchronize();
  expect_close("dx on d_residual", on_residual, expected, 1e-6);
  expect_close("dx on dy", on_dy, expected, 1e-6);
  expect_same("d_scale", d_scale_, d_scale);
}

TEST_P(LayerNormTest, AccumulateAddsToWhatIsThere) {
  forward(true);
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate}) {
    op_->backward(stream_, backward_tensors(mode));
  }
  stream_.synchronize();
  const auto d_scale = d_scale_.copy();
  const auto d_bias = d_bias_.copy();
  op_->backward(stream_, backward_tensors(GradMode::Overwrite));
  stream_.synchronize();
  for (std::int64_t c = 0; c < spec_.C; ++c) {
    ASSERT_EQ(d_scale[c], 2.0f * d_scale_[c]);
    ASSERT_EQ(d_bias[c], 2.0f * d_bias_[c]);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LayerNormTest,
                         ::testing::Values(LayerNormSpec{.rows = 5, .C = 33},
                                           LayerNormSpec{.rows = 1, .C = 7, .epsilon = 1e-2f},
                                           LayerNormSpec{.rows = 40, .C = 64}));

// Such a row is its own mean: what is left of it is the bias, and no gradient goes through it.
TEST(LayerNorm, ARowOfOneValueLetsNothingThrough) {
  const LayerNormSpec spec{.rows = 50, .C = 1};
  CpuStream stream;
  const auto op = make_cpu_layer_norm(spec);
  const auto x = HostTensor::random({spec.rows, 1}, 1), dy = HostTensor::random({spec.rows, 1}, 2);
  const auto residual = HostTensor::random({spec.rows, 1}, 3), y = HostTensor::unwritten({spec.rows, 1});
  const auto scale = HostTensor::random({1}, 4), bias = HostTensor::random({1}, 5);
  const auto dx = HostTensor::unwritten({spec.rows, 1}), d_scale = HostTensor::unwritten({1});
  const auto d_bias = HostTensor::unwritten({1});
  const auto saved = HostTensor::opaque(op->saved_bytes());
  const auto workspace = HostTensor::opaque(op->workspace_bytes());
  op->forward(stream, {{x.view(), {}}, scale.view(), bias.view(), {}, y.view(), saved.view()});
  op->backward(stream, {.dy = dy.view(),
                        .x = x.view(),
                        .scale = scale.view(),
                        .saved = saved.view(),
                        .d_residual = residual.view(),
                        .dx = dx.view(),
                        .d_scale = {d_scale.view(), GradMode::Overwrite},
                        .d_bias = {d_bias.view(), GradMode::Overwrite},
                        .workspace = workspace.view()});
  stream.synchronize();
  for (std::int64_t row = 0; row < spec.rows; ++row) ASSERT_EQ(y[row], bias[0]);
  expect_same("dx", dx, residual);
  EXPECT_EQ(d_scale[0], 0.0f);
}

TEST(LayerNorm, WrongTensorsAndSpecsThrow) {
  CpuStream stream;
  const auto op = make_cpu_layer_norm({.rows = 2, .C = 3});
  const HostTensor x({2, 3}), channel({3}), turned({3, 2});
  const auto saved = HostTensor::opaque(op->saved_bytes());
  const LayerNorm::Forward good{{x.view(), {}}, channel.view(), channel.view(), {}, x.view(), saved.view()};
  auto bad = good;
  bad.x.first = turned.view();
  EXPECT_THROW(op->forward(stream, bad), Error);
  bad = good;
  bad.x.second = x.view();  // a sum with nowhere to go
  EXPECT_THROW(op->forward(stream, bad), Error);
  bad = good;
  bad.saved = HostTensor({1}).view();
  EXPECT_THROW(op->forward(stream, bad), Error);
  const GradTarget target{channel.view(), GradMode::Overwrite};
  const auto workspace = HostTensor::opaque(op->workspace_bytes());
  const LayerNorm::Backward good_backward{x.view(), x.view(), channel.view(), saved.view(),    {},
                                          x.view(), target,   target,         workspace.view()};
  EXPECT_NO_THROW(op->backward(stream, good_backward));
  stream.synchronize();
  auto bad_backward = good_backward;
  bad_backward.workspace = {};
  EXPECT_THROW(op->backward(stream, bad_backward), Error);
  bad_backward = good_backward;
  bad_backward.d_scale.view = x.view();
  EXPECT_THROW(op->backward(stream, bad_backward), Error);
  bad_backward = good_backward;
  bad_backward.d_residual = turned.view();
  EXPECT_THROW(op->backward(stream, bad_backward), Error);
  EXPECT_THROW((void)make_cpu_layer_norm({.rows = 2, .C = 0}), Error);
  EXPECT_THROW((void)make_cpu_layer_norm({.rows = 2, .C = 3, .dtype = DType::BF16}), Error);
}

}  // namespace
}  // namespace tandem
