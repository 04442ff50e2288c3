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

class AttentionTest : public ::testing::TestWithParam<AttentionSpec> {
 protected:
  AttentionTest()
      : op_(make_cpu_attention(spec_)),
        saved_(HostTensor::opaque(op_->saved_bytes())),
        workspace_(HostTensor::opaque(op_->workspace_bytes())) {}

  void forward() {
    op_->forward(stream_, qkv_.view(), out_.view(), saved_.view(), workspace_.view());
    stream_.synchronize();
  }

  double packed(int part, std::int64_t b, std::int64_t t, std::int64_t head, std::int64_t d) const {
    const auto channels = spec_.heads * spec_.D;
    return qkv_[(b * spec_.T + t) * 3 * channels + part * channels + head * spec_.D + d];
  }

  // Appends the output of one query.
  void append_query(std::vector<double>& result, std::int64_t b, std::int64_t t, std::int64_t head) const {
    std::vector<double> weights;
    for (std::int64_t key = 0; key <= t; ++key) {
      double score = 0.0;
      for (std::int64_t d = 0; d < spec_.D; ++d)
        score += packed(0, b, t, head, d) * packed(1, b, key, head, d);
      weights.push_back(score / std::sqrt(static_cast<double>(spec_.D)));
    }
    const double largest = *std::ranges::max_element(weights);
    double sum = 0.0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (std::int64_t d = 0; d < spec_.D; ++d) {
      double value = 0.0;
      for (std::int64_t key = 0; key <= t; ++key) {
        value += weights[static_cast<std::size_t>(key)] / sum * packed(2, b, key, head, d);
      }
      result.push_back(value);
    }
  }

  std::vector<double> reference() const {
    std::vector<double> result;
    for (std::int64_t b = 0; b < spec_.B; ++b) {
      for (std::int64_t t = 0; t < spec_.T; ++t) {
        for (std::int64_t head = 0; head < spec_.heads; ++head) append_query(result, b, t, head);
      }
    }
    return result;
  }

  CpuStream stream_;
  AttentionSpec spec_ = GetParam();
  Shape packed_{spec_.B * spec_.T, 3 * spec_.heads* spec_.D};
  Shape merged_{spec_.B * spec_.T, spec_.heads* spec_.D};
  HostTensor qkv_ = HostTensor::random(packed_, 1, -2.0f, 2.0f);
  HostTensor d_out_ = HostTensor::random(merged_, 2);
  HostTensor out_ = HostTensor::unwritten(merged_);
  std::unique_ptr<Attention> op_;
  HostTensor saved_, workspace_;
};

TEST_P(AttentionTest, ForwardIsTheSoftmaxOfScoresTimesValues) {
  forward();
  expect_close("out", out_, reference(), 3e-6);
}

TEST_P(AttentionTest, Gradient) {
  forward();
  const auto d_qkv = HostTensor::unwritten(packed_);
  op_->backward(stream_, {.qkv = qkv_.view(),
                          .out = out_.view(),
                          .d_out = d_out_.view(),
                          .saved = saved_.view(),
                          .d_qkv = d_qkv.view(),
                          .workspace = workspace_.view()});
  stream_.synchronize();
  const auto loss = [&] {
    forward();
    return dot(out_, d_out_);
  };
  expect_gradient("qkv", qkv_, d_qkv, loss, {.samples = 96});
}

// Tokens behind a query change nothing before them, to the bit.
TEST_P(AttentionTest, IsCausal) {
  forward();
  const auto before = out_.copy();
  const auto width = packed_[1];
  for (std::int64_t i = 0; i < width; ++i)
    qkv_[(spec_.T - 1) * width + i] += 1.0f;  // last token of sequence 0
  forward();
  const auto channels = merged_[1];
  for (std::int64_t i = 0; i < (spec_.T - 1) * channels; ++i) ASSERT_EQ(out_[i], before[i]) << i;
  double change = 0.0;
  for (std::int64_t i = (spec_.T - 1) * channels; i < spec_.T * channels; ++i) {
    change = std::max(change, static_cast<double>(std::abs(out_[i] - before[i])));
  }
  EXPECT_GT(change, 0.1);
}

TEST_P(AttentionTest, HugeScoresStayFinite) {
  for (float& value : qkv_.values()) value *= 200.0f;
  forward();
  expect_close("out", out_, reference(), 1e-4);
}

// One block; several with a short last one; a single token; exactly one block.
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         ::testing::Values(AttentionSpec{.B = 2, .T = 5, .heads = 3, .D = 4},
                                           AttentionSpec{.B = 1, .T = 150, .heads = 2, .D = 9},
                                           AttentionSpec{.B = 2, .T = 1, .heads = 2, .D = 8},
                                           AttentionSpec{.B = 2, .T = 64, .heads = 1, .D = 16}));

TEST(Attention, WrongTensorsAndSpecsThrow) {
  CpuStream stream;
  const auto op = make_cpu_attention({.B = 1, .T = 2, .heads = 2, .D = 3});
  const HostTensor qkv({2, 18}), out({2, 6});
  const auto saved = HostTensor::opaque(op->saved_bytes());
  const auto workspace = HostTensor::opaque(op->workspace_bytes());
  EXPECT_THROW(op->forward(stream, out.view(), out.view(), saved.view(), workspace.view()), Error);
  EXPECT_THROW(op->forward(stream, qkv.view(), qkv.view(), saved.view(), workspace.view()), Error);
  EXPECT_THROW(op->forward(stream, qkv.view(), out.view(), {}, workspace.view()), Error);
  EXPECT_THROW(op->forward(stream, qkv.view(), out.view(), saved.view(), {}), Error);
  EXPECT_THROW(op->backward(stream, {.qkv = qkv.view(),
                                     .out = out.view(),
                                     .d_out = out.view(),
                                     .saved = saved.view(),
                                     .d_qkv = out.view(),
                                     .workspace = workspace.view()}),
               Error);
  EXPECT_THROW((void)make_cpu_attention({.B = 1, .T = 0, .heads = 1, .D = 1}), Error);
  EXPECT_THROW((void)make_cpu_attention({.B = 1, .T = 1, .heads = 1, .D = 1, .dtype = DType::F16}), Error);
}

}  // namespace
}  // namespace tandem
