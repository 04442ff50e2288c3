// Causal multi-head self-attention on packed queries, keys and values.
#pragma once

#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"

namespace tandem {

// out = softmax(q k^T / sqrt(D), causal) v for each of B sequences and `heads` heads of D channels.
struct AttentionSpec {
  std::int64_t B = 0, T = 0, heads = 0, D = 0;
  DType dtype = DType::F32;
};

class Attention {
 public:
  virtual ~Attention() = default;
  virtual ByteCount saved_bytes() const = 0;  // log-sum-exp of each row
  virtual ByteCount workspace_bytes() const = 0;

  // qkv [B*T, 3*heads*D]: per token all queries, then all keys, then all values; out [B*T, heads*D].
  virtual void forward(Stream& stream, TensorView qkv, TensorView out, TensorView saved,
                       TensorView workspace) = 0;

  struct Backward {
    TensorView qkv, out, d_out, saved;
    TensorView d_qkv;  // [B*T, 3*heads*D]
    TensorView workspace;
  };
  virtual void backward(Stream& stream, const Backward& tensors) = 0;
};

}  // namespace tandem
