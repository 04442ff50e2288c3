#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

// The op with everything it reads and writes.
struct Fixture {
  explicit Fixture(const NormMaxPoolSpec& s)
      : spec(s),
        op(make_cpu_norm_max_pool(s)),
        x(HostTensor::random({s.N, s.H, s.W, s.C}, 1, -2.0f, 3.0f)),
        scale(HostTensor::random({s.C}, 3, -1.5f, 1.5f)),
        bias(HostTensor::random({s.C}, 4)),
        mean(HostTensor::random({s.C}, 5)),
        variance(HostTensor::random({s.C}, 6, 0.5f, 2.0f)),
        y(HostTensor::unwritten({s.N, s.pool().P(), s.pool().Q(), s.C})),
        dy(HostTensor::random(y.shape(), 7)),
        dx(HostTensor::unwritten(x.shape())),
        d_scale(HostTensor::unwritten({s.C})),
        d_bias(HostTensor::unwritten({s.C})),
        saved(HostTensor::opaque(op->saved_bytes())),
        workspace(HostTensor::opaque(op->workspace_bytes())) {}

  BatchNormParameters parameters() const { return {scale.view(), bias.view(), mean.view(), variance.view()}; }
  NormMaxPool::Forward tensors() const { return {x.view(), y.view(), saved.view(), workspace.view()}; }
  void forward(bool training) {
    if (training) {
      op->forward_train(stream, parameters(), tensors());
    } else {
      op->forward_evaluate(stream, parameters(), tensors());
    }
    stream.synchronize();
  }
  void backward(Addends gradient) {
    op->backward(stream, parameters(),
                 {.dy = gradient,
                  .x = x.view(),
                  .saved = saved.view(),
                  .dx = dx.view(),
                  .d_scale = {d_scale.view(), GradMode::Overwrite},
                  .d_bias = {d_bias.view(), GradMode::Overwrite},
                  .workspace = workspace.view()});
    stream.synchronize();
  }

  NormMaxPoolSpec spec;
  std::unique_ptr<NormMaxPool> op;
  HostTensor x, scale, bias, mean, variance, y, dy, dx, d_scale, d_bias, saved, workspace;
  CpuStream stream;
};

class NormMaxPoolTest : public ::testing::TestWithParam<std::tuple<std::pair<int, int>, NormStatistics>> {
 protected:
  static NormMaxPoolSpec spec() {
    const auto& [image, statistics] = GetParam();
    return {.N = 2, .H = image.first, .W = image.second, .C = 3, .statistics = statistics};
  }
  Fixture f_{spec()};

  // A norm with ReLU, then maxima by their definition.
  HostTensor separately(bool training) {
    const auto& s = f_.spec;
    const auto norm = make_cpu_batch_norm(s.norm());
    const Shape matrix{s.norm().rows, s.C};
    const auto z = HostTensor::unwritten(f_.x.shape());
    const auto saved = HostTensor::opaque(norm->saved_bytes());
    const auto mean = f_.mean.copy(), variance = f_.variance.copy();
    const BatchNormParameters parameters{f_.scale.view(), f_.bias.view(), mean.view(), variance.view()};
    const auto x = f_.x.view().reshaped(matrix), out = z.view().reshaped(matrix);
    if (training) {
      norm->forward_train(f_.stream, x, {}, parameters, out, saved.view(), {});
    } else {
      norm->forward_evaluate(f_.stream, x, {}, parameters, out);
    }
    f_.stream.synchronize();
    HostTensor y(f_.y.shape());
    for (std::int64_t i = 0; i < z.elements(); ++i) {
      const std::int64_t c = i % s.C, w = i / s.C % s.W, h = i / (s.C * s.W) % s.H, n = i / (s.C * s.W * s.H);
      for (std::int64_t p = h / 2; p <= (h + 1) / 2 && p < y.shape()[1]; ++p) {
        for (std::int64_t q = w / 2; q <= (w + 1) / 2 && q < y.shape()[2]; ++q) {
          float& best = y[((n * y.shape()[1] + p) * y.shape()[2] + q) * s.C + c];
          best = std::max(best, z[i]);
        }
      }
    }
    return y;
  }
};

TEST_P(NormMaxPoolTest, IsTheMaximumOfTheNorm) {
  const auto trained = separately(true), evaluated = separately(false);
  f_.forward(true);
  expect_same("y", f_.y, trained);
  Fixture fresh(spec());
  fresh.forward(false);
  expect_same("y of evaluation", fresh.y, evaluated);
}

TEST_P(NormMaxPoolTest, GradientsAgreeWithDifferences) {
  f_.forward(true);
  f_.backward({f_.dy.view(), {}});
  const auto loss = [&] {
    f_.forward(true);
    return dot(f_.y, f_.dy);
  };
  const GradientCheck with_kinks{.step = 1e-3f, .tolerance = 2e-2};
  expect_gradient("x", f_.x, f_.dx, loss, with_kinks);
  expect_gradient("scale", f_.scale, f_.d_scale, loss, with_kinks);
  expect_gradient("bias", f_.bias, f_.d_bias, loss, with_kinks);
}

TEST_P(NormMaxPoolTest, TwoAddendsAreTheirSum) {
  f_.forward(true);
  for (float& value : f_.dy.values()) value = std::round(8.0f * value) / 4.0f;  // halves are exact
  f_.backward({f_.dy.view(), {}});
  const auto dx = f_.dx.copy();
  const auto half = f_.dy.copy();
  for (float& value : half.values()) value *= 0.5f;
  f_.backward({half.view(), half.view()});
  expect_same("dx", f_.dx, dx);
}

INSTANTIATE_TEST_SUITE_P(Images, NormMaxPoolTest,
                         ::testing::Combine(::testing::Values(std::pair(6, 8), std::pair(7, 5)),
                                            ::testing::Values(NormStatistics::Batch, NormStatistics::Running,
                                                              NormStatistics::Identity)));

TEST(NormMaxPool, WrongTensorsAndSpecsThrow) {
  Fixture f({.N = 1, .H = 4, .W = 4, .C = 3});
  auto tensors = f.tensors();
  tensors.saved = {};
  EXPECT_THROW(f.op->forward_train(f.stream, f.parameters(), tensors), Error);
  tensors = f.tensors();
  tensors.workspace = {};
  EXPECT_THROW(f.op->forward_train(f.stream, f.parameters(), tensors), Error);
  tensors = f.tensors();
  tensors.x = tensors.x.reshaped({1, 2, 8, 3});
  EXPECT_THROW(f.op->forward_evaluate(f.stream, f.parameters(), tensors), Error);
  EXPECT_THROW((void)make_cpu_norm_max_pool({.N = 1, .H = 0, .W = 4, .C = 3}), Error);
  EXPECT_THROW((void)make_cpu_norm_max_pool({.N = 1, .H = 4, .W = 4, .C = 3, .dtype = DType::BF16}), Error);
}

}  // namespace
}  // namespace tandem
