// Embeddings on the CPU: rows are copied forward and added back in the order of the tokens.
#include <cstring>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

void clear_if_overwritten(const GradTarget& target) {
  if (target.mode == GradMode::Overwrite) {
    std::memset(target.view.raw(), 0, static_cast<std::size_t>(target.view.bytes().value()));
  }
}

class CpuEmbedding final : public Embedding {
 public:
  explicit CpuEmbedding(const EmbeddingSpec& spec) : spec_(spec) {}

  ByteCount workspace_bytes() const override { return ByteCount(0); }

  void forward(Stream& stream, TensorView tokens, TensorView token_table, TensorView position_table,
               TensorView out) override {
    expect_tensor("embedding tokens", tokens, DType::I32, {spec_.B, spec_.T});
    expect_table("token_table", token_table, spec_.V);
    expect_table("position_table", position_table, spec_.T);
    expect_tensor("embedding out", out, DType::F32, {spec_.B * spec_.T, spec_.C});
    as_cpu(stream).enqueue([=, this] {
      for (std::int64_t row = 0; row < spec_.B * spec_.T; ++row) {
        row_of(out, row) = row_of(token_table, token_at(tokens, row)) + row_of(position_table, row % spec_.T);
      }
    });
  }

  void backward_tokens(Stream& stream, TensorView tokens, TensorView d_out, GradTarget d_table,
                       TensorView /*workspace*/) override {
    expect_tensor("embedding tokens", tokens, DType::I32, {spec_.B, spec_.T});
    expect_tensor("embedding d_out", d_out, DType::F32, {spec_.B * spec_.T, spec_.C});
    expect_table("d_table", d_table.view, spec_.V);
    as_cpu(stream).enqueue([=, this] {
      clear_if_overwritten(d_table);
      for (std::int64_t row = 0; row < spec_.B * spec_.T; ++row) {
        row_of(d_table.view, token_at(tokens, row)) += row_of(d_out, row);
      }
    });
  }

  void backward_positions(Stream& stream, TensorView d_out, GradTarget d_table,
                          TensorView /*workspace*/) override {
    expect_tensor("embedding d_out", d_out, DType::F32, {spec_.B * spec_.T, spec_.C});
    expect_table("d_table", d_table.view, spec_.T);
    as_cpu(stream).enqueue([=, this] {
      clear_if_overwritten(d_table);
      for (std::int64_t row = 0; row < spec_.B * spec_.T; ++row) {
        row_of(d_table.view, row % spec_.T) += row_of(d_out, row);
      }
    });
  }

 private:
  void expect_table(const char* argument, const TensorView& table, std::int64_t least_rows) const {
    const bool fits = !table.empty() && table.dtype() == DType::F32 && table.shape().rank() == 2 &&
                      table.shape()[0] >= least_rows && table.shape()[1] == spec_.C;
    TANDEM_EXPECT(fits, "embedding: {}: expected f32 [>= {}, {}], found {} {}", argument, least_rows, spec_.C,
                  name_of(table.dtype()), table.empty() ? "no tensor" : table.shape().to_string());
  }

  std::int64_t token_at(const TensorView& tokens, std::int64_t row) const {
    const std::int32_t token = tokens.data<std::int32_t>()[row];
    TANDEM_EXPECT(token >= 0 && token < spec_.V,
                  "token {} of sequence {}, position {} is outside the vocabulary [0, {})", token,
                  row / spec_.T, row % spec_.T, spec_.V);
    return token;
  }

  ArrayMap row_of(const TensorView& table, std::int64_t row) const {
    return ArrayMap(table.data<float>() + row * spec_.C, spec_.C);
  }

  EmbeddingSpec spec_;
};

}  // namespace

std::unique_ptr<Embedding> make_cpu_embedding(const EmbeddingSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("embedding", spec.dtype);
  return std::make_unique<CpuEmbedding>(spec);
}

}  // namespace tandem
