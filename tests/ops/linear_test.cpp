#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

double gelu(double z) {
  return 0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (z + 0.044715 * z * z * z)));
}

// Odd extents, one of each kind: a vector's width missed by one, a single row, a single column.
const LinearSpec kShapes[] = {{.rows = 7, .in = 17, .out = 5},
                              {.rows = 1, .in = 3, .out = 33},
                              {.rows = 70, .in = 1, .out = 2},
                              {.rows = 67, .in = 40, .out = 1}};

class LinearTest : public ::testing::TestWithParam<LinearSpec> {
 protected:
  LinearTest() {
    spec_ = GetParam();
    x_ = HostTensor::random({spec_.rows, spec_.in}, 1);
    w_ = HostTensor::random({spec_.out, spec_.in}, 2);
    bias_ = HostTensor::random({spec_.out}, 3);
    y_ = HostTensor::unwritten({spec_.rows, spec_.out});
    z_ = HostTensor::unwritten({spec_.rows, spec_.out});
    dy_ = HostTensor::random({spec_.rows, spec_.out}, 4);
  }

  void forward(LinearTail tail) {
    spec_.tail = tail;
    const auto op = make_cpu_linear(spec_);
    const bool with_bias = tail != LinearTail::None;
    const bool with_gelu = tail == LinearTail::BiasGelu;
    op->forward(stream_, {.x = x_.view(),
                          .w = w_.view(),
                          .bias = with_bias ? bias_.view() : TensorView(),
                          .y = y_.view(),
                          .z = with_gelu ? z_.view() : TensorView(),
                          .workspace = {}});
    stream_.synchronize();
  }

  std::vector<double> reference(bool with_bias) const {
    std::vector<double> result;
    for (std::int64_t row = 0; row < spec_.rows; ++row) {
      for (std::int64_t k = 0; k < spec_.out; ++k) {
        double sum = with_bias ? bias_[k] : 0.0;
        for (std::int64_t c = 0; c < spec_.in; ++c) {
          sum += static_cast<double>(x_[row * spec_.in + c]) * w_[k * spec_.in + c];
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  CpuStream stream_;
  LinearSpec spec_;
  HostTensor x_, w_, bias_, y_, z_, dy_;
};

TEST_P(LinearTest, ForwardIsTheProduct) {
  forward(LinearTail::None);
  expect_close("y", y_, reference(false), 1e-6);
}

TEST_P(LinearTest, ForwardAddsTheBias) {
  forward(LinearTail::Bias);
  expect_close("y", y_, reference(true), 1e-6);
}

TEST_P(LinearTest, ForwardAppliesGeluAndKeepsItsInput) {
  forward(LinearTail::BiasGelu);
  auto expected = reference(true);
  expect_close("z", z_, expected, 1e-6);
  for (double& value : expected) value = gelu(value);
  expect_close("y", y_, expected, 1e-6);
}

TEST_P(LinearTest, WeightAndBiasGradients) {
  const auto op = make_cpu_linear(spec_);
  const auto dw = HostTensor::unwritten(w_.shape());
  const auto dbias = HostTensor::unwritten(bias_.shape());
  op->backward_weight(stream_, x_.view(), dy_.view(), {dw.view(), GradMode::Overwrite}, {});
  op->backward_bias(stream_, dy_.view(), {dbias.view(), GradMode::Overwrite}, {});
  stream_.synchronize();
  const auto loss = [&] {
    forward(LinearTail::Bias);
    return dot(y_, dy_);
  };
  expect_gradient("w", w_, dw, loss);
  expect_gradient("bias", bias_, dbias, loss);
}

TEST_P(LinearTest, InputGradient) {
  const auto dx = HostTensor::unwritten(x_.shape());
  const auto op = make_cpu_linear(spec_);
  op->backward_input(stream_, dy_.view(), w_.view(), dx.view(), {}, {});
  stream_.synchronize();
  expect_gradient("x", x_, dx, [&] {
    forward(LinearTail::None);
    return dot(y_, dy_);
  });
}

TEST_P(LinearTest, InputGradientGoesThroughTheGeluBefore) {
  // x = gelu(z): the gradient that comes back is the one at z.
  const auto z = HostTensor::random(x_.shape(), 9, -3.0f, 3.0f);
  const auto dz = HostTensor::unwritten(x_.shape());
  auto spec = spec_;
  spec.input_is_gelu = true;
  const auto op = make_cpu_linear(spec);
  op->backward_input(stream_, dy_.view(), w_.view(), dz.view(), z.view(), {});
  stream_.synchronize();
  expect_gradient("z", z, dz, [&] {
    for (std::int64_t i = 0; i < z.elements(); ++i) x_[i] = static_cast<float>(gelu(z[i]));
    forward(LinearTail::None);
    return dot(y_, dy_);
  });
}

TEST_P(LinearTest, AccumulateAddsToWhatIsThere) {
  const auto op = make_cpu_linear(spec_);
  // Small integers: all sums are exact, whatever their order.
  for (HostTensor* tensor : {&x_, &dy_}) {
    for (float& value : tensor->values()) value = std::round(4.0f * value);
  }
  const auto dw = HostTensor::unwritten(w_.shape());
  const auto dbias = HostTensor::unwritten(bias_.shape());
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate, GradMode::Accumulate}) {
    op->backward_weight(stream_, x_.view(), dy_.view(), {dw.view(), mode}, {});
    op->backward_bias(stream_, dy_.view(), {dbias.view(), mode}, {});
  }
  const auto once_w = HostTensor::unwritten(w_.shape());
  const auto once_bias = HostTensor::unwritten(bias_.shape());
  op->backward_weight(stream_, x_.view(), dy_.view(), {once_w.view(), GradMode::Overwrite}, {});
  op->backward_bias(stream_, dy_.view(), {once_bias.view(), GradMode::Overwrite}, {});
  stream_.synchronize();
  for (std::int64_t i = 0; i < dw.elements(); ++i) ASSERT_EQ(dw[i], 3.0f * once_w[i]);
  for (std::int64_t i = 0; i < dbias.elements(); ++i) ASSERT_EQ(dbias[i], 3.0f * once_bias[i]);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest, ::testing::ValuesIn(kShapes));

TEST(Linear, WrongTensorsThrowAtTheCall) {
  CpuStream stream;
  const auto op = make_cpu_linear({.rows = 2, .in = 3, .out = 4, .tail = LinearTail::Bias});
  const HostTensor x({2, 3}), w({4, 3}), bias({4}), y({2, 4}), turned({3, 4});
  const Linear::Forward good{x.view(), w.view(), bias.view(), y.view(), {}, {}};
  EXPECT_NO_THROW(op->forward(stream, good));
  stream.synchronize();
  auto bad = good;
  bad.w = turned.view();
  EXPECT_THROW(op->forward(stream, bad), Error);
  bad = good;
  bad.bias = {};
  EXPECT_THROW(op->forward(stream, bad), Error);
  bad = good;
  bad.z = y.view();
  EXPECT_THROW(op->forward(stream, bad), Error);
  const HostTensor integers({2, 3}, DType::I32);
  bad = good;
  bad.x = integers.view();
  EXPECT_THROW(op->forward(stream, bad), Error);
  EXPECT_THROW(op->backward_input(stream, y.view(), w.view(), x.view(), x.view(), {}), Error);
  EXPECT_THROW(op->backward_weight(stream, x.view(), y.view(), {turned.view(), GradMode::Overwrite}, {}),
               Error);
  EXPECT_THROW(op->backward_bias(stream, x.view(), {bias.view(), GradMode::Overwrite}, {}), Error);
}

TEST(Linear, SpecsThatCannotRunThrow) {
  EXPECT_THROW((void)make_cpu_linear({.rows = 0, .in = 1, .out = 1}), Error);
  EXPECT_THROW((void)make_cpu_linear({.rows = 1, .in = 1, .out = 1, .dtype = DType::BF16}), Error);
}

}  // namespace
}  // namespace tandem
