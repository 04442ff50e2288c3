// Attention as plain matrix products with the scores in memory: for fp32, which no fused kernel takes, and
// for heads of odd widths.
//
// One sequence at a time; its heads are one batched product. In the library's column-major view a head of one
// part of qkv is [D, T] with a leading dimension of 3 heads D, and scores, row-major [query, key], are [key,
// query]:
//   S = K^T Q;  O = V P;   dV = dO P^T;  dP = V^T dO;  dQ = K dS;  dK = Q dS^T
#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class MatmulAttention final : public Attention {
 public:
  MatmulAttention(CudaContext& context, const AttentionSpec& spec);

  ByteCount saved_bytes() const override {
    return bytes_of(ElementCount(spec_.B * spec_.heads * spec_.T), DType::F32);
  }
  ByteCount workspace_bytes() const override { return workspace_; }
  void forward(Stream& stream, TensorView qkv, TensorView out, TensorView saved,
               TensorView workspace) override;
  void backward(Stream& stream, const Backward& tensors) override;

 private:
  // Per sequence, each [heads, T, T]: scores and their counterparts in backward.
  struct Scratch {
    float* scores;
    float* d_probabilities;
    void* probabilities;
    void* d_scores;
    void* of_library;
  };

  std::int64_t channels() const { return spec_.heads * spec_.D; }
  Shape packed() const { return {spec_.B * spec_.T, 3 * channels()}; }
  Shape merged() const { return {spec_.B * spec_.T, channels()}; }
  AttentionRows rows() const {
    return {spec_.T, spec_.heads, spec_.D, spec_.dtype, 1.0f / std::sqrt(static_cast<float>(spec_.D))};
  }
  ByteCount square_bytes(DType dtype) const {
    return workspace_piece(bytes_of(ElementCount(spec_.heads * spec_.T * spec_.T), dtype));
  }
  Scratch carve(const TensorView& workspace) const;
  char* part(const TensorView& qkv, std::int64_t b, std::int64_t which) const;
  char* sequence(const TensorView& merged, std::int64_t b) const;
  void backward_sequence(Stream& stream, const Backward& tensors, std::int64_t b, const Scratch& scratch);

  AttentionSpec spec_;
  std::unique_ptr<Matmul> scores_;           // packed, packed -> square
  std::unique_ptr<Matmul> d_probabilities_;  // packed, merged -> square
  std::unique_ptr<Matmul> out_;              // packed, square -> merged
  std::unique_ptr<Matmul> dv_;               // merged, square^T -> packed
  std::unique_ptr<Matmul> dq_;               // packed, square -> packed
  std::unique_ptr<Matmul> dk_;               // packed, square^T -> packed
  ByteCount library_workspace_;
  ByteCount workspace_;
};

// The largest power of two that divides the distance between heads, in bytes, up to what allocations have.
std::uint32_t head_alignment(const AttentionSpec& spec) {
  const auto bytes = static_cast<std::uint64_t>(spec.D * bytes_per_element(spec.dtype));
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(256, std::uint64_t{1} << std::countr_zero(bytes)));
}

MatmulAttention::MatmulAttention(CudaContext& context, const AttentionSpec& spec) : spec_(spec) {
  const auto T = spec.T, D = spec.D, square = T * T;
  const auto in_packed = 3 * channels(), in_merged = channels();
  const MatmulSpec common{
      .in = spec.dtype, .batch = spec.heads, .alignment = head_alignment(spec), .tune = false};
  const auto make = [&](MatmulSpec product) { return context.blas().make(context, product); };

  auto to_square = common;  // [key, query] = [D, key]^T [D, query]
  to_square.m = to_square.n = to_square.ldd = T;
  to_square.k = D;
  to_square.transpose_a = true;
  to_square.out = DType::F32;
  to_square.lda = to_square.ldb = in_packed;
  to_square.stride_a = to_square.stride_b = D;
  to_square.stride_d = square;
  scores_ = make(to_square);
  to_square.ldb = in_merged;
  d_probabilities_ = make(to_square);

  auto from_square =
      common;  // [D, query] = [D, key] [key, query], or over queries with the square transposed
  from_square.m = D;
  from_square.n = from_square.k = from_square.ldb = T;
  from_square.out = spec.dtype;
  from_square.lda = in_packed;
  from_square.ldd = in_merged;
  from_square.stride_a = from_square.stride_d = D;
  from_square.stride_b = square;
  out_ = make(from_square);
  from_square.ldd = in_packed;
  dq_ = make(from_square);
  from_square.transpose_b = true;
  dk_ = make(from_square);
  from_square.lda = in_merged;
  dv_ = make(from_square);

  for (const auto* matmul : {&scores_, &d_probabilities_, &out_, &dq_, &dk_, &dv_}) {
    library_workspace_ = std::max(library_workspace_, (*matmul)->workspace_bytes());
  }
  library_workspace_ = workspace_piece(library_workspace_);
  workspace_ = library_workspace_ + square_bytes(DType::F32) * 2 + square_bytes(spec.dtype) * 2;
}

MatmulAttention::Scratch MatmulAttention::carve(const TensorView& workspace) const {
  const auto fp32 = square_bytes(DType::F32), own = square_bytes(spec_.dtype);
  return {.scores = static_cast<float*>(workspace_at(workspace, library_workspace_)),
          .d_probabilities = static_cast<float*>(workspace_at(workspace, library_workspace_ + fp32)),
          .probabilities = workspace_at(workspace, library_workspace_ + fp32 * 2),
          .d_scores = workspace_at(workspace, library_workspace_ + fp32 * 2 + own),
          .of_library = workspace.raw()};
}

// Where queries (0), keys (1) or values (2) of sequence b begin.
char* MatmulAttention::part(const TensorView& qkv, std::int64_t b, std::int64_t which) const {
  const ElementCount offset(b * spec_.T * 3 * channels() + which * channels());
  return static_cast<char*>(qkv.raw()) + bytes_of(offset, spec_.dtype).value();
}

char* MatmulAttention::sequence(const TensorView& merged, std::int64_t b) const {
  return static_cast<char*>(merged.raw()) +
         bytes_of(ElementCount(b * spec_.T * channels()), spec_.dtype).value();
}

void MatmulAttention::forward(Stream& stream, TensorView qkv, TensorView out, TensorView saved,
                              TensorView workspace) {
  expect_tensor("attention qkv", qkv, spec_.dtype, packed());
  expect_tensor("attention out", out, spec_.dtype, merged());
  expect_memory("attention saved", saved, saved_bytes());
  expect_memory("attention workspace", workspace, workspace_);
  const auto scratch = carve(workspace);
  const auto raw = as_cuda(stream).raw();
  for (std::int64_t b = 0; b < spec_.B; ++b) {
    float* log_sum_exp = static_cast<float*>(saved.raw()) + b * spec_.heads * spec_.T;
    scores_->run(
        stream,
        {.a = part(qkv, b, 1), .b = part(qkv, b, 0), .d = scratch.scores, .workspace = scratch.of_library});
    TANDEM_CUDA(launch_causal_softmax(rows(), scratch.scores, scratch.probabilities, log_sum_exp, raw));
    out_->run(stream, {.a = part(qkv, b, 2),
                       .b = scratch.probabilities,
                       .d = sequence(out, b),
                       .workspace = scratch.of_library});
  }
}

void MatmulAttention::backward(Stream& stream, const Backward& tensors) {
  expect_tensor("attention qkv", tensors.qkv, spec_.dtype, packed());
  expect_tensor("attention out", tensors.out, spec_.dtype, merged());
  expect_tensor("attention d_out", tensors.d_out, spec_.dtype, merged());
  expect_tensor("attention d_qkv", tensors.d_qkv, spec_.dtype, packed());
  expect_memory("attention saved", tensors.saved, saved_bytes());
  expect_memory("attention workspace", tensors.workspace, workspace_);
  const auto scratch = carve(tensors.workspace);
  for (std::int64_t b = 0; b < spec_.B; ++b) backward_sequence(stream, tensors, b, scratch);
}

void MatmulAttention::backward_sequence(Stream& stream, const Backward& tensors, std::int64_t b,
                                        const Scratch& scratch) {
  const auto product = [&](Matmul& matmul, const void* a, const void* by, void* d) {
    matmul.run(stream, {.a = a, .b = by, .d = d, .workspace = scratch.of_library});
  };
  const char* q = part(tensors.qkv, b, 0);
  const char* k = part(tensors.qkv, b, 1);
  const char* v = part(tensors.qkv, b, 2);
  const char* d_out = sequence(tensors.d_out, b);
  product(*scores_, k, q, scratch.scores);
  product(*d_probabilities_, v, d_out, scratch.d_probabilities);
  const float* log_sum_exp = static_cast<const float*>(tensors.saved.raw()) + b * spec_.heads * spec_.T;
  TANDEM_CUDA(launch_causal_softmax_backward(rows(),
                                             {.scores = scratch.scores,
                                              .d_probabilities = scratch.d_probabilities,
                                              .log_sum_exp = log_sum_exp,
                                              .out = sequence(tensors.out, b),
                                              .d_out = d_out,
                                              .probabilities = scratch.probabilities,
                                              .d_scores = scratch.d_scores},
                                             as_cuda(stream).raw()));
  product(*dv_, d_out, scratch.probabilities, part(tensors.d_qkv, b, 2));
  product(*dq_, k, scratch.d_scores, part(tensors.d_qkv, b, 0));
  product(*dk_, q, scratch.d_scores, part(tensors.d_qkv, b, 1));
}

}  // namespace

std::unique_ptr<Attention> make_cuda_matmul_attention(CudaContext& context, const AttentionSpec& spec) {
  return std::make_unique<MatmulAttention>(context, spec);
}

}  // namespace tandem
