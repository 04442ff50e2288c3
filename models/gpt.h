// Decoder-only transformers: GPT-2 and its larger relatives.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/attention_layer.h"
#include "layers/dropout_layer.h"
#include "layers/embedding_layer.h"
#include "layers/layer_norm_layer.h"
#include "layers/mlp.h"

namespace tandem {

// Radford et al., "Language models are unsupervised multitask learners", 2019: layer norm before each branch,
// learned positions, GELU in its tanh form, an MLP of four times the channels, the head tied to the token
// table. First weights N(0, 0.02), those that write into the residual stream N(0, 0.02 / sqrt(2 layers)).
struct GptSpec {
  std::int64_t layers = 0, heads = 0, channels = 0;
  std::int64_t context = 0;  // T: tokens of a sample, and rows of the position table
  std::int64_t vocabulary = 0;
  std::int64_t padded_vocabulary = 0;  // rows of the stored table and columns of the logits; 0: vocabulary
  float dropout = 0.0f;  // of the embedding and of each branch; not of attention's probabilities
  std::uint64_t dropout_seed = 0;
  bool recompute_blocks = false;  // less memory, the same bits, more time: layers/recomputed.h

  std::int64_t stored_vocabulary() const { return padded_vocabulary > 0 ? padded_vocabulary : vocabulary; }
};

// x + attention(norm(x)), then the same with an MLP. Takes and returns the residual stream as a sum: the
// stream and what the last branch adds, which the next layer norm adds up.
class GptBlock final : public Layer {
 public:
  explicit GptBlock(const GptSpec& spec);

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  LayerNormLayer attention_norm_, mlp_norm_;
  AttentionLayer attention_;
  Mlp mlp_;
  DropoutLayer attention_dropout_, mlp_dropout_;
  SingleTensor output_gradient_;
};

// tokens [B,T] i32 -> logits [B*T, stored vocabulary]. Parameters are named as Hugging Face's GPT-2
// ("h.0.attn.c_attn.weight"); ours are [out, in] where theirs are [in, out].
class Gpt final : public Layer {
 public:
  explicit Gpt(const GptSpec& spec);

  Flow plan_forward(Planner& plan, Flow tokens) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  EmbeddingLayer embedding_;
  DropoutLayer embedding_dropout_;
  std::vector<std::unique_ptr<Layer>> blocks_;
  LayerNormLayer last_norm_;
  LinearLayer head_;
};

}  // namespace tandem
