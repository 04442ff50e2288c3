#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

class EmbeddingTest : public ::testing::Test {
 protected:
  // Two rows of padding behind the vocabulary, one position more than is used. Values are small integers:
  // sums are exact.
  EmbeddingTest() {
    for (const HostTensor* tensor : {&token_table_, &position_table_, &d_out_}) {
      for (float& value : tensor->values()) value = std::round(8.0f * value);
    }
  }

  CpuStream stream_;
  EmbeddingSpec spec_{.B = 2, .T = 3, .V = 5, .C = 4};
  std::unique_ptr<Embedding> op_ = make_cpu_embedding(spec_);
  HostTensor tokens_ = HostTensor::of<std::int32_t>({2, 3}, {4, 0, 2, 2, 4, 2});
  HostTensor token_table_ = HostTensor::random({7, 4}, 1);
  HostTensor position_table_ = HostTensor::random({4, 4}, 2);
  HostTensor d_out_ = HostTensor::random({6, 4}, 3);
  HostTensor out_ = HostTensor::unwritten({6, 4});
};

TEST_F(EmbeddingTest, ForwardAddsTokenAndPosition) {
  op_->forward(stream_, tokens_.view(), token_table_.view(), position_table_.view(), out_.view());
  stream_.synchronize();
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t c = 0; c < 4; ++c) {
      const auto token = tokens_.values<std::int32_t>()[static_cast<std::size_t>(row)];
      ASSERT_EQ(out_[row * 4 + c], token_table_[token * 4 + c] + position_table_[row % 3 * 4 + c]);
    }
  }
}

TEST_F(EmbeddingTest, BackwardSumsTheRowsOfEachTokenAndPosition) {
  const auto d_tokens = HostTensor::unwritten({7, 4});
  const auto d_positions = HostTensor::unwritten({4, 4});
  for (int times = 1; times <= 2; ++times) {
    const auto mode = times == 1 ? GradMode::Overwrite : GradMode::Accumulate;
    op_->backward_tokens(stream_, tokens_.view(), d_out_.view(), {d_tokens.view(), mode}, {});
    op_->backward_positions(stream_, d_out_.view(), {d_positions.view(), mode}, {});
    stream_.synchronize();
    const auto expected_tokens = HostTensor({7, 4});
    const auto expected_positions = HostTensor({4, 4});
    for (std::int64_t row = 0; row < 6; ++row) {
      const auto token = tokens_.values<std::int32_t>()[static_cast<std::size_t>(row)];
      for (std::int64_t c = 0; c < 4; ++c) {
        expected_tokens[token * 4 + c] += static_cast<float>(times) * d_out_[row * 4 + c];
        expected_positions[row % 3 * 4 + c] += static_cast<float>(times) * d_out_[row * 4 + c];
      }
    }
    expect_same("d_tokens", d_tokens, expected_tokens);
    expect_same("d_positions", d_positions, expected_positions);
  }
}

TEST_F(EmbeddingTest, TokenOutsideTheVocabularyIsNamed) {
  for (const std::int32_t wrong : {5, -1}) {  // 5 is a row of the table, but padding
    CpuStream stream;
    tokens_.values<std::int32_t>()[5] = wrong;
    op_->forward(stream, tokens_.view(), token_table_.view(), position_table_.view(), out_.view());
    try {
      stream.synchronize();
      FAIL() << "token " << wrong << " was taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(),
                  ::testing::HasSubstr(fmt::format("token {} of sequence 1, position 2", wrong)));
      EXPECT_THAT(error.message(), ::testing::HasSubstr("[0, 5)"));
    }
  }
}

TEST_F(EmbeddingTest, WrongTensorsAndSpecsThrow) {
  const HostTensor small({4, 4}), wide({7, 5}), flat({6}, DType::I32);
  const auto tokens = tokens_.view(), tables = token_table_.view(), positions = position_table_.view();
  EXPECT_THROW(op_->forward(stream_, flat.view(), tables, positions, out_.view()), Error);
  EXPECT_THROW(op_->forward(stream_, tokens, small.view(), positions, out_.view()), Error);
  EXPECT_THROW(op_->forward(stream_, tokens, tables, wide.view(), out_.view()), Error);
  EXPECT_THROW(op_->forward(stream_, tokens, tables, positions, small.view()), Error);
  EXPECT_THROW(op_->backward_tokens(stream_, tokens, d_out_.view(), {{}, GradMode::Overwrite}, {}), Error);
  EXPECT_THROW(op_->backward_positions(stream_, d_out_.view(), {wide.view(), GradMode::Overwrite}, {}),
               Error);
  EXPECT_THROW((void)make_cpu_embedding({.B = 1, .T = 1, .V = 0, .C = 1}), Error);
  EXPECT_THROW((void)make_cpu_embedding({.B = 1, .T = 1, .V = 1, .C = 1, .dtype = DType::BF16}), Error);
}

}  // namespace
}  // namespace tandem
