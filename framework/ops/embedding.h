// Token and position embeddings.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "params/gradient_sink.h"

namespace tandem {

// out[b*T + t] = token_table[token[b, t]] + position_table[t]. A token outside [0, V) is an error that
// names it.
struct EmbeddingSpec {
  std::int64_t B = 0, T = 0, V = 0, C = 0;
  DType dtype = DType::F32;
};

class Embedding {
 public:
  virtual ~Embedding() = default;
  virtual ByteCount workspace_bytes() const = 0;

  // tokens [B,T] i32, token_table [>= V, C] (rows behind V are padding), position_table [>= T, C],
  // out [B*T, C]
  virtual void forward(Stream& stream, TensorView tokens, TensorView token_table, TensorView position_table,
                       TensorView out) = 0;
  // Adds rows of d_out into rows of d_table; Overwrite clears the whole table first, padding included. Sums
  // in a fixed order.
  virtual void backward_tokens(Stream& stream, TensorView tokens, TensorView d_out, GradTarget d_table,
                               TensorView workspace) = 0;
  virtual void backward_positions(Stream& stream, TensorView d_out, GradTarget d_table,
                                  TensorView workspace) = 0;
};

}  // namespace tandem
