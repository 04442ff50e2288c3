#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {

void PrintTo(const Conv2dSpec& s, std::ostream* out) {
  *out << fmt::format("{}x{}x{}x{} to {}, {}x{} stride {} padding {}", s.N, s.H, s.W, s.C, s.K, s.R, s.S,
                      s.stride, s.padding);
}

namespace {

// The shapes of networks, and what is awkward: extents that differ, channels that fill no vector, strides
// that skip filter taps or leave image rows unread, filters as large as the image, blocks of several rows.
const Conv2dSpec kShapes[] = {
    {.N = 2, .H = 9, .W = 7, .C = 16, .K = 16, .R = 3, .S = 3, .padding = 1},
    {.N = 2, .H = 7, .W = 9, .C = 1, .K = 16, .R = 3, .S = 3, .padding = 1},
    {.N = 1, .H = 8, .W = 11, .C = 3, .K = 5, .R = 3, .S = 3, .stride = 2, .padding = 1},
    {.N = 2, .H = 8, .W = 8, .C = 16, .K = 32, .R = 3, .S = 3, .stride = 2, .padding = 1},
    {.N = 3, .H = 5, .W = 4, .C = 7, .K = 33, .R = 1, .S = 1},
    {.N = 2, .H = 7, .W = 6, .C = 6, .K = 10, .R = 1, .S = 1, .stride = 2},
    {.N = 1, .H = 13, .W = 10, .C = 4, .K = 18, .R = 7, .S = 7, .stride = 2, .padding = 3},
    {.N = 1, .H = 10, .W = 9, .C = 2, .K = 3, .R = 2, .S = 5, .stride = 3, .padding = 2},
    {.N = 1, .H = 3, .W = 4, .C = 2, .K = 3, .R = 1, .S = 2, .padding = 3},
    {.N = 1, .H = 12, .W = 12, .C = 3, .K = 17, .R = 4, .S = 4, .stride = 4},
    {.N = 2, .H = 5, .W = 5, .C = 9, .K = 4, .R = 5, .S = 5},
    {.N = 1, .H = 2, .W = 2, .C = 5, .K = 40, .R = 3, .S = 3, .stride = 3, .padding = 1},
    {.N = 1, .H = 40, .W = 33, .C = 20, .K = 36, .R = 3, .S = 3, .padding = 1},
};

class Conv2dTest : public ::testing::TestWithParam<Conv2dSpec> {
 protected:
  Conv2dTest() : spec_(GetParam()), op_(make_cpu_conv2d(spec_)) {
    x_ = HostTensor::random({spec_.N, spec_.H, spec_.W, spec_.C}, 1);
    w_ = HostTensor::random({spec_.K, spec_.R, spec_.S, spec_.C}, 2);
    y_ = HostTensor::unwritten({spec_.N, spec_.P(), spec_.Q(), spec_.K});
    dy_ = HostTensor::random(y_.shape(), 3);
    workspace_ = HostTensor::opaque(op_->workspace_bytes());
  }

  // Calls visit(x index, w index, y index) for every product of the convolution.
  template <class Visit>
  void for_each_product(Visit visit) const {
    const Conv2dSpec& s = spec_;
    for (std::int64_t y = 0; y < y_.elements(); ++y) {
      const std::int64_t k = y % s.K, q = y / s.K % s.Q(), p = y / s.K / s.Q() % s.P();
      const std::int64_t n = y / s.K / s.Q() / s.P();
      for (std::int64_t w = k * s.R * s.S * s.C; w < (k + 1) * s.R * s.S * s.C; ++w) {
        const std::int64_t c = w % s.C;
        const std::int64_t row = p * s.stride - s.padding + w / s.C / s.S % s.R;
        const std::int64_t column = q * s.stride - s.padding + w / s.C % s.S;
        if (row < 0 || row >= s.H || column < 0 || column >= s.W) continue;
        visit(((n * s.H + row) * s.W + column) * s.C + c, w, y);
      }
    }
  }

  void backward_weight(const HostTensor& dw, GradMode mode) {
    op_->backward_weight(stream_, x_.view(), dy_.view(), {dw.view(), mode}, workspace_.view());
    stream_.synchronize();
  }

  Conv2dSpec spec_;
  std::unique_ptr<Conv2d> op_;
  HostTensor x_, w_, y_, dy_, workspace_;
  CpuStream stream_;
};

TEST_P(Conv2dTest, ForwardIsTheSumOfProducts) {
  std::vector<double> expected(static_cast<std::size_t>(y_.elements()), 0.0);
  for_each_product([&](std::int64_t x, std::int64_t w, std::int64_t y) {
    expected[static_cast<std::size_t>(y)] += static_cast<double>(x_[x]) * w_[w];
  });
  op_->forward(stream_, x_.view(), w_.view(), y_.view(), workspace_.view());
  stream_.synchronize();
  expect_close("y", y_, expected, 2e-6);
}

TEST_P(Conv2dTest, InputGradientIsTheSumOfProducts) {
  std::vector<double> expected(static_cast<std::size_t>(x_.elements()), 0.0);
  for_each_product([&](std::int64_t x, std::int64_t w, std::int64_t y) {
    expected[static_cast<std::size_t>(x)] += static_cast<double>(dy_[y]) * w_[w];
  });
  const auto dx = HostTensor::unwritten(x_.shape());
  op_->backward_input(stream_, dy_.view(), w_.view(), dx.view(), workspace_.view());
  stream_.synchronize();
  expect_close("dx", dx, expected, 2e-6);
}

TEST_P(Conv2dTest, WeightGradientIsTheSumOfProducts) {
  std::vector<double> expected(static_cast<std::size_t>(w_.elements()), 0.0);
  for_each_product([&](std::int64_t x, std::int64_t w, std::int64_t y) {
    expected[static_cast<std::size_t>(w)] += static_cast<double>(dy_[y]) * x_[x];
  });
  const auto dw = HostTensor::unwritten(w_.shape());
  backward_weight(dw, GradMode::Overwrite);
  expect_close("dw", dw, expected, 5e-6);
}

TEST_P(Conv2dTest, GradientsAgreeWithDifferences) {
  const auto dw = HostTensor::unwritten(w_.shape());
  const auto dx = HostTensor::unwritten(x_.shape());
  backward_weight(dw, GradMode::Overwrite);
  op_->backward_input(stream_, dy_.view(), w_.view(), dx.view(), workspace_.view());
  const auto loss = [&] {
    op_->forward(stream_, x_.view(), w_.view(), y_.view(), workspace_.view());
    stream_.synchronize();
    return dot(y_, dy_);
  };
  stream_.synchronize();
  // The loss is linear in either: a large step costs nothing and drowns the rounding.
  expect_gradient("w", w_, dw, loss, {.step = 0.5f, .samples = 12});
  expect_gradient("x", x_, dx, loss, {.step = 0.5f, .samples = 12});
}

TEST_P(Conv2dTest, AccumulateAddsExactlyToWhatIsThere) {
  for (HostTensor* tensor : {&x_, &dy_}) {  // small integers: sums are exact in any order
    for (float& value : tensor->values()) value = std::round(4.0f * value);
  }
  const auto once = HostTensor::unwritten(w_.shape());
  const auto thrice = HostTensor::unwritten(w_.shape());
  backward_weight(once, GradMode::Overwrite);
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate, GradMode::Accumulate}) {
    backward_weight(thrice, mode);
  }
  for (std::int64_t i = 0; i < once.elements(); ++i) ASSERT_EQ(thrice[i], 3.0f * once[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv2dTest, ::testing::ValuesIn(kShapes));

TEST(Conv2d, ANanInTheImageStaysInTheOutput) {
  const Conv2dSpec spec{.N = 1, .H = 3, .W = 3, .C = 1, .K = 1, .R = 3, .S = 3, .padding = 1};
  const auto op = make_cpu_conv2d(spec);
  const auto x = HostTensor::random({1, 3, 3, 1}, 1);
  const HostTensor w({1, 3, 3, 1}), y({1, 3, 3, 1});
  const auto workspace = HostTensor::opaque(op->workspace_bytes());
  CpuStream stream;
  x[4] = std::nanf("");
  op->forward(stream, x.view(), w.view(), y.view(), workspace.view());
  stream.synchronize();
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
}

TEST(Conv2d, WrongTensorsThrowAtTheCall) {
  const Conv2dSpec spec{.N = 2, .H = 4, .W = 5, .C = 3, .K = 2, .R = 3, .S = 3, .padding = 1};
  const auto op = make_cpu_conv2d(spec);
  const HostTensor x({2, 4, 5, 3}), w({2, 3, 3, 3}), y({2, 4, 5, 2}), turned({2, 5, 4, 3});
  const auto workspace = HostTensor::opaque(op->workspace_bytes());
  CpuStream stream;
  EXPECT_NO_THROW(op->forward(stream, x.view(), w.view(), y.view(), workspace.view()));
  stream.synchronize();
  EXPECT_THROW(op->forward(stream, turned.view(), w.view(), y.view(), workspace.view()), Error);
  EXPECT_THROW(op->forward(stream, x.view(), w.view(), y.view(), {}), Error);
  EXPECT_THROW(op->forward(stream, x.view(), w.view(), {}, workspace.view()), Error);
  EXPECT_THROW(
      op->backward_weight(stream, x.view(), x.view(), {w.view(), GradMode::Overwrite}, workspace.view()),
      Error);
  EXPECT_THROW(op->backward_input(stream, y.view(), y.view(), x.view(), workspace.view()), Error);
}

TEST(Conv2d, SpecsThatCannotRunThrow) {
  const Conv2dSpec good{.N = 1, .H = 4, .W = 4, .C = 1, .K = 1, .R = 3, .S = 3};
  const auto broken = [&](auto change) {
    Conv2dSpec spec = good;
    change(spec);
    return spec;
  };
  EXPECT_NO_THROW((void)make_cpu_conv2d(good));
  for (const auto& spec :
       {broken([](Conv2dSpec& s) { s.N = 0; }), broken([](Conv2dSpec& s) { s.stride = 0; }),
        broken([](Conv2dSpec& s) { s.padding = -1; }), broken([](Conv2dSpec& s) { s.R = 5; }),
        broken([](Conv2dSpec& s) { s.dtype = DType::F16; })}) {
    EXPECT_THROW((void)make_cpu_conv2d(spec), Error);
  }
}

}  // namespace
}  // namespace tandem
