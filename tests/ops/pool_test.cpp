#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {

void PrintTo(const PoolSpec& s, std::ostream* out) {
  *out << fmt::format("{} {}x{}x{}x{}, {}x{} stride {} padding {}",
                      s.kind == PoolKind::Max ? "max" : "average", s.N, s.H, s.W, s.C, s.window_h, s.window_w,
                      s.stride, s.padding);
}

namespace {

const PoolSpec kShapes[] = {
    {.N = 2, .H = 7, .W = 9, .C = 3, .window_h = 3, .window_w = 3, .stride = 2, .padding = 1},
    {.N = 1, .H = 8, .W = 5, .C = 17, .window_h = 2, .window_w = 2, .stride = 2},
    {.N = 2, .H = 5, .W = 4, .C = 1, .window_h = 2, .window_w = 3, .stride = 1, .padding = 1},
    {.N = 3, .H = 7, .W = 6, .C = 16, .window_h = 7, .window_w = 6},              // global
    {.N = 1, .H = 9, .W = 9, .C = 2, .window_h = 2, .window_w = 2, .stride = 4},  // pixels that nobody reads
    {.N = 1, .H = 3, .W = 3, .C = 2},
};

std::vector<PoolSpec> shapes_of_both_kinds() {
  std::vector<PoolSpec> specs(std::begin(kShapes), std::end(kShapes));
  for (const PoolSpec& shape : kShapes) {
    specs.push_back(shape);
    specs.back().kind = PoolKind::Average;
  }
  return specs;
}

class PoolTest : public ::testing::TestWithParam<PoolSpec> {
 protected:
  PoolTest() : spec_(GetParam()), op_(make_cpu_pool(spec_)) {
    x_ = HostTensor({spec_.N, spec_.H, spec_.W, spec_.C});
    // All values differ by far more than the step of a difference: no maximum changes hands in a check.
    for (std::int64_t i = 0; i < x_.elements(); ++i) {
      x_[i] = 0.1f * static_cast<float>((i * 7919) % 10007 % 1009) - 50.0f;
    }
    y_ = HostTensor::unwritten({spec_.N, spec_.P(), spec_.Q(), spec_.C});
    dy_ = HostTensor::random(y_.shape(), 3);
    saved_ = HostTensor::opaque(op_->saved_bytes());
  }

  void forward() {
    op_->forward(stream_, x_.view(), y_.view(), saved_.view());
    stream_.synchronize();
  }

  double expected_at(std::int64_t y) const {
    const PoolSpec& s = spec_;
    const std::int64_t c = y % s.C, q = y / s.C % s.Q(), p = y / s.C / s.Q() % s.P();
    const std::int64_t n = y / s.C / s.Q() / s.P();
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0.0;
    int count = 0;
    for (std::int64_t i = 0; i < s.window_h * s.window_w; ++i) {
      const std::int64_t h = p * s.stride - s.padding + i / s.window_w;
      const std::int64_t w = q * s.stride - s.padding + i % s.window_w;
      if (h < 0 || h >= s.H || w < 0 || w >= s.W) continue;
      const double value = x_[((n * s.H + h) * s.W + w) * s.C + c];
      largest = std::max(largest, value);
      sum += value;
      ++count;
    }
    return s.kind == PoolKind::Max ? largest : sum / count;
  }

  PoolSpec spec_;
  std::unique_ptr<Pool> op_;
  HostTensor x_, y_, dy_, saved_;
  CpuStream stream_;
};

TEST_P(PoolTest, Forward) {
  forward();
  std::vector<double> expected;
  for (std::int64_t i = 0; i < y_.elements(); ++i) expected.push_back(expected_at(i));
  expect_close("y", y_, expected, spec_.kind == PoolKind::Max ? 0.0 : 1e-6);
}

TEST_P(PoolTest, GradientAgreesWithDifferences) {
  forward();
  const auto dx = HostTensor::unwritten(x_.shape());
  op_->backward(stream_, {dy_.view(), {}}, saved_.view(), dx.view());
  stream_.synchronize();
  expect_gradient("x", x_, dx, [&] {
    forward();
    return dot(y_, dy_);
  });
}

TEST_P(PoolTest, TwoAddendsAreTheirSum) {
  forward();
  const auto whole = HostTensor::unwritten(x_.shape());
  const auto sum = HostTensor::unwritten(x_.shape());
  const auto half = dy_.copy();
  for (float& value : half.values()) value *= 0.5f;
  op_->backward(stream_, {dy_.view(), {}}, saved_.view(), whole.view());
  op_->backward(stream_, {half.view(), half.view()}, saved_.view(), sum.view());
  stream_.synchronize();
  expect_same("dx", sum, whole);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PoolTest, ::testing::ValuesIn(shapes_of_both_kinds()));

// A 2 x 2 image under one window, or four with padding.
struct Tiny {
  explicit Tiny(std::initializer_list<float> values, PoolSpec s)
      : spec(s), op(make_cpu_pool(s)), x(HostTensor::of<float>({1, 2, 2, 1}, values)) {
    y = HostTensor::unwritten({1, spec.P(), spec.Q(), 1});
    dx = HostTensor::unwritten(x.shape());
    dy = HostTensor(y.shape());
    for (float& value : dy.values()) value = 1.0f;
    const auto saved = HostTensor::opaque(op->saved_bytes());
    op->forward(stream, x.view(), y.view(), saved.view());
    op->backward(stream, {dy.view(), {}}, saved.view(), dx.view());
    stream.synchronize();
  }
  PoolSpec spec;
  std::unique_ptr<Pool> op;
  HostTensor x, y, dy, dx;
  CpuStream stream;
};

constexpr PoolSpec kWhole{.N = 1, .H = 2, .W = 2, .C = 1, .window_h = 2, .window_w = 2};

TEST(Pool, TheFirstOfATieWins) {
  const Tiny all({3, 3, 3, 3}, kWhole);
  expect_same("dx", all.dx, HostTensor::of<float>({1, 2, 2, 1}, {1, 0, 0, 0}));
  const Tiny later({1, 3, 3, 2}, kWhole);
  expect_same("dx", later.dx, HostTensor::of<float>({1, 2, 2, 1}, {0, 1, 0, 0}));
}

TEST(Pool, PaddingNeverWinsAndCountsInNoAverage) {
  auto spec = kWhole;
  spec.stride = 2;
  spec.padding = 1;
  const Tiny maximum({-1, -2, -3, -4}, spec);
  expect_same("y", maximum.y, HostTensor::of<float>({1, 2, 2, 1}, {-1, -2, -3, -4}));
  expect_same("dx", maximum.dx, HostTensor::of<float>({1, 2, 2, 1}, {1, 1, 1, 1}));
  spec.kind = PoolKind::Average;
  const Tiny average({-1, -2, -3, -4}, spec);
  expect_same("y", average.y, HostTensor::of<float>({1, 2, 2, 1}, {-1, -2, -3, -4}));
}

TEST(Pool, MinusInfinityHasAWinnerAndNanWins) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tiny bottom({-kInfinity, -kInfinity, -kInfinity, -kInfinity}, kWhole);
  EXPECT_EQ(bottom.y[0], -kInfinity);
  expect_same("dx", bottom.dx, HostTensor::of<float>({1, 2, 2, 1}, {1, 0, 0, 0}));
  EXPECT_TRUE(std::isnan(Tiny({std::nanf(""), 1, 2, 3}, kWhole).y[0]));
  EXPECT_TRUE(std::isnan(Tiny({4, std::nanf(""), 5, 6}, kWhole).y[0]));
}

TEST(Pool, WrongTensorsThrowAtTheCall) {
  const auto op = make_cpu_pool(kWhole);
  const HostTensor x({1, 2, 2, 1}), y({1, 1, 1, 1});
  const auto saved = HostTensor::opaque(op->saved_bytes());
  CpuStream stream;
  EXPECT_THROW(op->forward(stream, y.view(), y.view(), saved.view()), Error);
  EXPECT_THROW(op->forward(stream, x.view(), y.view(), {}), Error);
  EXPECT_THROW(op->backward(stream, {x.view(), {}}, saved.view(), x.view()), Error);
  EXPECT_THROW(op->backward(stream, {y.view(), x.view()}, saved.view(), x.view()), Error);
}

TEST(Pool, SpecsThatCannotRunThrow) {
  const auto broken = [](auto change) {
    PoolSpec spec = kWhole;
    change(spec);
    return spec;
  };
  EXPECT_NO_THROW((void)make_cpu_pool(kWhole));
  for (const auto& spec :
       {broken([](PoolSpec& s) { s.C = 0; }), broken([](PoolSpec& s) { s.stride = 0; }),
        broken([](PoolSpec& s) { s.window_h = 3; }), broken([](PoolSpec& s) { s.padding = 2; }),
        broken([](PoolSpec& s) { s.padding = -1; }), broken([](PoolSpec& s) { s.dtype = DType::F16; }),
        broken([](PoolSpec& s) { s.H = s.W = s.window_h = s.window_w = 300; })}) {
    EXPECT_THROW((void)make_cpu_pool(spec), Error);
  }
}

}  // namespace
}  // namespace tandem
