// Embeddings by own kernels; the gradient of the token table sums in the order that a sort gives.
#include <limits>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/embedding_kernels.h"
#include "ops/cuda/gradient_target.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaEmbedding final : public Embedding {
 public:
  CudaEmbedding(CudaContext& context, const EmbeddingSpec& spec)
      : spec_(spec), shape_{spec.B, spec.T, spec.V, spec.C, spec.dtype} {
    TANDEM_CUDA(cudaSetDevice(context.device().ordinal()));  // the sort asks which GPU it is for
    scratch_ = ByteCount(static_cast<std::int64_t>(token_order_scratch_bytes(shape_)));
    TANDEM_EXPECT(scratch_ > ByteCount(0),
                  "embedding B={} T={} V={}: the sort of its tokens cannot be planned", spec.B, spec.T,
                  spec.V);
  }

  ByteCount workspace_bytes() const override { return list_bytes() * 3 + scratch_; }

  void forward(Stream& stream, TensorView tokens, TensorView token_table, TensorView position_table,
               TensorView out) override;
  void backward_tokens(Stream& stream, TensorView tokens, TensorView d_out, GradTarget d_table,
                       TensorView workspace) override;
  void backward_positions(Stream& stream, TensorView d_out, GradTarget d_table,
                          TensorView workspace) override;

 private:
  ByteCount list_bytes() const {
    return workspace_piece(bytes_of(ElementCount(spec_.B * spec_.T), DType::I32));
  }
  void expect_table(const char* argument, const TensorView& table, std::int64_t least_rows) const {
    const bool fits = !table.empty() && table.shape().rank() == 2 && table.shape()[0] >= least_rows &&
                      table.shape()[1] == spec_.C;
    TANDEM_EXPECT(fits, "embedding: {}: expected [>= {}, {}], found {}", argument, least_rows, spec_.C,
                  table.empty() ? "no tensor" : table.shape().to_string());
  }
  void expect_dtype(const char* argument, const TensorView& table) const {
    TANDEM_EXPECT(table.dtype() == spec_.dtype, "embedding: {}: expected {}, found {}", argument,
                  name_of(spec_.dtype), name_of(table.dtype()));
  }

  EmbeddingSpec spec_;
  EmbeddingShape shape_;
  ByteCount scratch_;
};

// Clears the whole table where it is overwritten, so that what follows may add or skip rows.
void clear_if_overwritten(Stream& stream, const GradTarget& target) {
  if (target.mode == GradMode::Overwrite) stream.zero(target.view.raw(), target.view.bytes());
}

void CudaEmbedding::forward(Stream& stream, TensorView tokens, TensorView token_table,
                            TensorView position_table, TensorView out) {
  expect_tensor("embedding tokens", tokens, DType::I32, {spec_.B, spec_.T});
  expect_table("token_table", token_table, spec_.V);
  expect_table("position_table", position_table, spec_.T);
  expect_dtype("token_table", token_table);
  expect_dtype("position_table", position_table);
  expect_tensor("embedding out", out, spec_.dtype, {spec_.B * spec_.T, spec_.C});
  TANDEM_CUDA(launch_embedding(shape_, tokens.data<std::int32_t>(), token_table.raw(), position_table.raw(),
                               out.raw(), as_cuda(stream).raw()));
}

void CudaEmbedding::backward_tokens(Stream& stream, TensorView tokens, TensorView d_out, GradTarget d_table,
                                    TensorView workspace) {
  expect_tensor("embedding tokens", tokens, DType::I32, {spec_.B, spec_.T});
  expect_tensor("embedding d_out", d_out, spec_.dtype, {spec_.B * spec_.T, spec_.C});
  expect_table("d_table", d_table.view, spec_.V);
  expect_float_dtype("embedding d_table", d_table.view.dtype());
  expect_memory("embedding workspace", workspace, workspace_bytes());
  const auto list = [&](int which) {
    return static_cast<std::int32_t*>(workspace_at(workspace, list_bytes() * which));
  };
  const TokenOrder order{list(0), list(1), list(2), workspace_at(workspace, list_bytes() * 3)};
  const auto raw = as_cuda(stream).raw();
  clear_if_overwritten(stream, d_table);
  TANDEM_CUDA(launch_token_order(shape_, tokens.data<std::int32_t>(), order, raw));
  TANDEM_CUDA(launch_token_gradient(shape_, order, d_out.raw(), as_kernel_argument(d_table), raw));
}

void CudaEmbedding::backward_positions(Stream& stream, TensorView d_out, GradTarget d_table,
                                       TensorView /*workspace*/) {
  expect_tensor("embedding d_out", d_out, spec_.dtype, {spec_.B * spec_.T, spec_.C});
  expect_table("d_table", d_table.view, spec_.T);
  expect_float_dtype("embedding d_table", d_table.view.dtype());
  if (d_table.view.shape()[0] > spec_.T) clear_if_overwritten(stream, d_table);
  TANDEM_CUDA(
      launch_position_gradient(shape_, d_out.raw(), as_kernel_argument(d_table), as_cuda(stream).raw()));
}

}  // namespace

std::unique_ptr<Embedding> make_cuda_embedding(CudaContext& context, const EmbeddingSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("embedding", spec.dtype);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  TANDEM_EXPECT(spec.B * spec.T * spec.C <= most && spec.V <= most,
                "embedding: expected B * T * C and V of at most {}, found B={} T={} V={} C={}", most, spec.B,
                spec.T, spec.V, spec.C);
  return std::make_unique<CudaEmbedding>(context, spec);
}

}  // namespace tandem
