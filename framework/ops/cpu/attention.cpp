// Causal attention on the CPU: per sequence and head, blocks of query rows against all keys before them.
//
// Scores of one block exist at a time. Backward computes probabilities again from the saved log-sum-exp, as
// Dao et al., "FlashAttention", NeurIPS 2022, appendix B.
#include <algorithm>
#include <cmath>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

constexpr std::int64_t kBlockRows = 64;  // queries whose scores are held at once

using Block = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;

// Queries of one block: [first, last); the keys they see are [0, last).
struct QueryBlock {
  std::int64_t first, last;
  std::int64_t rows() const { return last - first; }
};

class CpuAttention final : public Attention {
 public:
  explicit CpuAttention(const AttentionSpec& spec) : spec_(spec) {}

  ByteCount saved_bytes() const override {
    return bytes_of(ElementCount(spec_.B * spec_.heads * spec_.T), DType::F32);
  }

  // Backward's probabilities and score gradients of one block; forward uses the first half.
  ByteCount workspace_bytes() const override {
    return bytes_of(ElementCount(2 * block_rows() * spec_.T), DType::F32);
  }

  void forward(Stream& stream, TensorView qkv, TensorView out, TensorView saved,
               TensorView workspace) override {
    expect_tensor("attention qkv", qkv, DType::F32, packed());
    expect_tensor("attention out", out, DType::F32, merged());
    expect_memory("attention saved", saved, saved_bytes());
    expect_memory("attention workspace", workspace, workspace_bytes());
    as_cpu(stream).enqueue([=, this] {
      for (std::int64_t b = 0; b < spec_.B; ++b) {
        for (std::int64_t head = 0; head < spec_.heads; ++head) {
          forward_head(qkv, out, row_sums(saved, b, head), workspace, b, head);
        }
      }
    });
  }

  void backward(Stream& stream, const Backward& tensors) override {
    expect_tensor("attention qkv", tensors.qkv, DType::F32, packed());
    expect_tensor("attention out", tensors.out, DType::F32, merged());
    expect_tensor("attention d_out", tensors.d_out, DType::F32, merged());
    expect_tensor("attention d_qkv", tensors.d_qkv, DType::F32, packed());
    expect_memory("attention saved", tensors.saved, saved_bytes());
    expect_memory("attention workspace", tensors.workspace, workspace_bytes());
    as_cpu(stream).enqueue([=, this] {
      for (std::int64_t b = 0; b < spec_.B; ++b) {
        for (std::int64_t head = 0; head < spec_.heads; ++head) backward_head(tensors, b, head);
      }
    });
  }

 private:
  enum Part { Queries = 0, Keys = 1, Values = 2 };

  std::int64_t channels() const { return spec_.heads * spec_.D; }
  Shape packed() const { return {spec_.B * spec_.T, 3 * channels()}; }
  Shape merged() const { return {spec_.B * spec_.T, channels()}; }
  std::int64_t block_rows() const { return std::min(kBlockRows, spec_.T); }
  float score_scale() const { return 1.0f / std::sqrt(static_cast<float>(spec_.D)); }

  // One head of one sequence as a [T, D] matrix.
  Block part_of(TensorView qkv, Part part, std::int64_t b, std::int64_t head) const {
    float* first = qkv.data<float>() + b * spec_.T * 3 * channels() + part * channels() + head * spec_.D;
    return Block(first, spec_.T, spec_.D, Eigen::OuterStride<>(3 * channels()));
  }
  Block head_of(TensorView merged, std::int64_t b, std::int64_t head) const {
    float* first = merged.data<float>() + b * spec_.T * channels() + head * spec_.D;
    return Block(first, spec_.T, spec_.D, Eigen::OuterStride<>(channels()));
  }
  float* row_sums(TensorView saved, std::int64_t b, std::int64_t head) const {
    return static_cast<float*>(saved.raw()) + (b * spec_.heads + head) * spec_.T;
  }
  // A [rows, last] matrix of scores in the workspace.
  Block scores_in(TensorView workspace, std::int64_t which, QueryBlock block) const {
    float* first = static_cast<float*>(workspace.raw()) + which * block_rows() * spec_.T;
    return Block(first, block.rows(), block.last, Eigen::OuterStride<>(spec_.T));
  }
  QueryBlock block_at(std::int64_t first) const { return {first, std::min(first + kBlockRows, spec_.T)}; }

  void forward_head(TensorView qkv, TensorView out, float* log_sum_exp, TensorView workspace, std::int64_t b,
                    std::int64_t head) const {
    const auto q = part_of(qkv, Queries, b, head);
    const auto k = part_of(qkv, Keys, b, head);
    const auto v = part_of(qkv, Values, b, head);
    auto result = head_of(out, b, head);
    for (std::int64_t first = 0; first < spec_.T; first += kBlockRows) {
      const QueryBlock block = block_at(first);
      auto p = scores_in(workspace, 0, block);
      p.noalias() = q.middleRows(first, block.rows()) * k.topRows(block.last).transpose();
      for (std::int64_t row = 0; row < block.rows(); ++row) {
        const std::int64_t seen = first + row + 1;
        auto scores = p.row(row).head(seen).array();
        const float largest = scores.maxCoeff() * score_scale();
        scores = (scores * score_scale() - largest).exp();
        const float sum = scores.sum();
        scores *= 1.0f / sum;
        p.row(row).tail(block.last - seen).setZero();
        log_sum_exp[first + row] = largest + std::log(sum);
      }
      result.middleRows(first, block.rows()).noalias() = p * v.topRows(block.last);
    }
  }

  // With P the probabilities, S = q k^T the scores and c the score scale:
  //   dV = P^T dO,  dP = dO V^T,  dS = c P * (dP - rowsum(dO * O)),  dQ = dS K,  dK = dS^T Q
  void backward_head(const Backward& tensors, std::int64_t b, std::int64_t head) const {
    const auto q = part_of(tensors.qkv, Queries, b, head);
    const auto k = part_of(tensors.qkv, Keys, b, head);
    const auto v = part_of(tensors.qkv, Values, b, head);
    auto dq = part_of(tensors.d_qkv, Queries, b, head);
    auto dk = part_of(tensors.d_qkv, Keys, b, head);
    auto dv = part_of(tensors.d_qkv, Values, b, head);
    const auto d_out = head_of(tensors.d_out, b, head);
    const auto out = head_of(tensors.out, b, head);
    const float* log_sum_exp = row_sums(tensors.saved, b, head);
    dk.setZero();
    dv.setZero();
    for (std::int64_t first = 0; first < spec_.T; first += kBlockRows) {
      const QueryBlock block = block_at(first);
      const auto d_out_block = d_out.middleRows(first, block.rows());
      auto p = scores_in(tensors.workspace, 0, block);
      auto ds = scores_in(tensors.workspace, 1, block);
      p.noalias() = q.middleRows(first, block.rows()) * k.topRows(block.last).transpose();
      ds.noalias() = d_out_block * v.topRows(block.last).transpose();
      for (std::int64_t row = 0; row < block.rows(); ++row) {
        const std::int64_t seen = first + row + 1;
        auto probabilities = p.row(row).head(seen).array();
        auto gradients = ds.row(row).head(seen).array();
        const float projection = d_out_block.row(row).dot(out.row(first + row));
        probabilities = (probabilities * score_scale() - log_sum_exp[first + row]).exp();
        gradients = score_scale() * probabilities * (gradients - projection);
        p.row(row).tail(block.last - seen).setZero();
        ds.row(row).tail(block.last - seen).setZero();
      }
      dv.topRows(block.last).noalias() += p.transpose() * d_out_block;
      dq.middleRows(first, block.rows()).noalias() = ds * k.topRows(block.last);
      dk.topRows(block.last).noalias() += ds.transpose() * q.middleRows(first, block.rows());
    }
  }

  AttentionSpec spec_;
};

}  // namespace

std::unique_ptr<Attention> make_cpu_attention(const AttentionSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("attention", spec.dtype);
  return std::make_unique<CpuAttention>(spec);
}

}  // namespace tandem
