#include "gpu_op_test.h"

namespace tandem {
namespace {

const EmbeddingSpec kSpecs[] = {{.B = 4, .T = 33, .V = 50, .C = 768},
                                {.B = 3, .T = 7, .V = 5, .C = 20},
                                {.B = 1, .T = 1, .V = 1, .C = 1},
                                {.B = 16, .T = 64, .V = 3, .C = 64},
                                {.B = 2, .T = 100, .V = 70000, .C = 8}};

class CudaEmbeddingTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    reference_ = make_cpu_embedding(spec_);
    spec_.dtype = dtype_;
    op_ = make_cuda_embedding(*context_, spec_);
    tokens_host_ = HostTensor({spec_.B, spec_.T}, DType::I32);
    const auto key = philox_key(9, RandomUse::Synthetic);
    std::uint64_t counter = 0;
    for (auto& token : tokens_host_.values<std::int32_t>()) {
      token = static_cast<std::int32_t>(
          uniform_below(philox(key, counter++).word[0], static_cast<std::uint32_t>(spec_.V)));
    }
    const auto list = tokens_host_.values<std::int32_t>();
    tokens_ = std::make_unique<GpuValues<std::int32_t>>(*device_, *stream_, list);
    d_out_host_ = rounded(HostTensor::random({spec_.B * spec_.T, spec_.C}, 3), dtype_);
  }
  TensorView tokens() const { return tokens_->view({spec_.B, spec_.T}); }

  // The gradient table of tokens after one call, on top of `before` where it accumulates.
  HostTensor token_gradient(const HostTensor& before, GradMode mode, DType target) const {
    const auto d_out = on_gpu(d_out_host_, dtype_), workspace = memory(op_->workspace_bytes());
    const auto table = on_gpu(before, target);
    op_->backward_tokens(*stream_, tokens(), d_out.view(), {table.view(), mode}, workspace.view());
    return table.values();
  }

  DType dtype_ = DType::F32;
  EmbeddingSpec spec_;
  HostTensor tokens_host_, d_out_host_;
  std::unique_ptr<GpuValues<std::int32_t>> tokens_;
  std::unique_ptr<Embedding> reference_, op_;
};

TEST_P(CudaEmbeddingTest, Forward) {
  const auto token_host = rounded(HostTensor::random({spec_.V + 3, spec_.C}, 1), dtype_);
  const auto position_host = rounded(HostTensor::random({spec_.T + 2, spec_.C}, 2), dtype_);
  const auto expected = HostTensor::unwritten(d_out_host_.shape());
  reference_->forward(cpu_, tokens_host_.view(), token_host.view(), position_host.view(), expected.view());
  cpu_.synchronize();
  const auto token_table = on_gpu(token_host, dtype_), position_table = on_gpu(position_host, dtype_);
  const auto out = unwritten(expected.shape(), dtype_);
  op_->forward(*stream_, tokens(), token_table.view(), position_table.view(), out.view());
  expect_same("out", out.values(), rounded(expected, dtype_));
}

TEST_P(CudaEmbeddingTest, TokenGradients) {
  const auto before = HostTensor::random({spec_.V + 3, spec_.C}, 4);
  for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate}) {
    for (const auto target : {DType::F32, DType::BF16}) {
      const auto expected = rounded(before, target);
      reference_->backward_tokens(cpu_, tokens_host_.view(), d_out_host_.view(), {expected.view(), mode}, {});
      cpu_.synchronize();
      const auto actual = token_gradient(before, mode, target);
      EXPECT_LE(relative_error(actual, expected), own_tolerance(target)) << name_of(target);
      expect_same("again", token_gradient(before, mode, target), actual);
    }
  }
}

TEST_P(CudaEmbeddingTest, PositionGradients) {
  for (const auto rows : {spec_.T, spec_.T + 2}) {
    for (const auto mode : {GradMode::Overwrite, GradMode::Accumulate}) {
      for (const auto target : {DType::F32, DType::BF16}) {
        const auto before = rounded(HostTensor::random({rows, spec_.C}, 5), target);
        const auto d_out = on_gpu(d_out_host_, dtype_), table = on_gpu(before, target);
        const auto workspace = memory(op_->workspace_bytes());
        reference_->backward_positions(cpu_, d_out_host_.view(), {before.view(), mode}, {});
        cpu_.synchronize();
        op_->backward_positions(*stream_, d_out.view(), {table.view(), mode}, workspace.view());
        expect_near("d_table", table, before, own_tolerance(target));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaEmbeddingTest, all_of(kSpecs), name_of_case);

// A trap ends the process's use of the GPU: hence a process of its own.
class CudaEmbeddingDeathTest : public GpuOpTest {
 protected:
  // Ends the process with 1 if the GPU reported the failure.
  static void embed_a_bad_token() {
    const auto op = make_cuda_embedding(*context_, {.B = 1, .T = 2, .V = 4, .C = 8});
    const GpuTensor table(*device_, *stream_, Shape{4, 8}, DType::F32);
    const GpuTensor out(*device_, *stream_, Shape{2, 8}, DType::F32);
    const std::vector<std::int32_t> list{3, 4};
    const GpuValues<std::int32_t> tokens(*device_, *stream_, list);
    op->forward(*stream_, tokens.view({1, 2}), table.view(), table.view(), out.view());
    try {
      stream_->synchronize();
    } catch (const Error&) {
      std::fflush(stdout);
      std::_Exit(1);
    }
    std::_Exit(0);
  }
};

TEST_F(CudaEmbeddingDeathTest, ATokenOutsideTheVocabularyEndsTheJob) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(embed_a_bad_token(), ::testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace tandem
