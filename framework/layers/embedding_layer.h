// Token and position embeddings.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "layers/single_tensor.h"

namespace tandem {

struct EmbeddingOptions {
  std::int64_t vocabulary = 0;
  std::int64_t stored_vocabulary = 0;  // >= vocabulary: rows behind it are padding with zero gradient
  std::int64_t positions = 0;          // rows of the position table, >= T
  std::int64_t channels = 0;
  float deviation = 0.02f;  // of the first values of both tables
};

// tokens [B,T] i32 -> y [B*T, C]. Parameters "wte.weight" [vocabulary, C] and "wpe.weight" [positions, C],
// named as GPT-2's. The token table is an ordinary weight: a head may share it.
class EmbeddingLayer final : public Layer {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow tokens) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

  ParamId token_table() const { return token_table_; }  // once planned

 private:
  EmbeddingOptions options_;
  std::unique_ptr<Embedding> op_;
  SingleTensor output_gradient_;
  ParamId token_table_, position_table_;
  TensorId tokens_, y_, dy_, workspace_;
};

}  // namespace tandem
