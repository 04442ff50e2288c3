#include "layers/embedding_layer.h"

namespace tandem {

Flow EmbeddingLayer::plan_forward(Planner& plan, Flow tokens) {
  const Shape in = plan.shape(tokens.first);
  TANDEM_EXPECT(in.rank() == 2 && in[1] <= options_.positions, "{} takes tokens [B, T <= {}], got {}",
                plan.path("embedding"), options_.positions, in.to_string());
  const auto channels = options_.channels;
  op_ = plan.ops().make_embedding(
      {.B = in[0], .T = in[1], .V = options_.vocabulary, .C = channels, .dtype = plan.compute_dtype()});
  token_table_ = plan.parameter({.name = "wte.weight",
                                 .canonical = {options_.vocabulary, channels},
                                 .stored = {options_.stored_vocabulary, channels},
                                 .initializer = Initializer::normal(options_.deviation)});
  position_table_ = plan.parameter({.name = "wpe.weight",
                                    .canonical = {options_.positions, channels},
                                    .stored = {options_.positions, channels},
                                    .initializer = Initializer::normal(options_.deviation)});
  tokens_ = tokens.first;
  y_ = plan.tensor("embedding", {in[0] * in[1], channels});
  plan.op({reads(tokens_), writes(y_)});
  return Flow::of(y_);
}

// The token table first: it is by far the larger, and nothing is left to compute while it is reduced.
Flow EmbeddingLayer::plan_backward(Planner& plan, Flow dy) {
  dy_ = output_gradient_.plan(plan, dy);
  workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(tokens_), reads(dy_), updates(workspace_)});
  plan.gradient(token_table_);
  plan.op({reads(dy_), updates(workspace_)});
  plan.gradient(position_table_);
  return Flow::none();
}

void EmbeddingLayer::forward(Context& context) {
  op_->forward(context.stream(), context.read(tokens_), context.weight(token_table_),
               context.weight(position_table_), context.write(y_));
}

void EmbeddingLayer::backward(Context& context) {
  output_gradient_.run(context);
  const auto d_tokens = context.begin_gradient(token_table_);
  op_->backward_tokens(context.stream(), context.read(tokens_), context.read(dy_), d_tokens,
                       context.update(workspace_));
  context.end_gradient(token_table_);
  const auto d_positions = context.begin_gradient(position_table_);
  op_->backward_positions(context.stream(), context.read(dy_), d_positions, context.update(workspace_));
  context.end_gradient(position_table_);
}

}  // namespace tandem
