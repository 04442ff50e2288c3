#include "models/gpt.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "layers/recomputed.h"

namespace tandem {
namespace {

constexpr float kDeviation = 0.02f;

float projection_deviation(const GptSpec& spec) {
  return kDeviation / std::sqrt(2.0f * static_cast<float>(spec.layers));
}

DropoutOptions dropout_of(const GptSpec& spec) {
  return {.probability = spec.dropout, .seed = spec.dropout_seed, .rows_per_sample = spec.context};
}

// Plans a child below `name`.
Flow plan_forward_in(Planner& plan, const char* name, Layer& layer, Flow x) {
  const auto scope = plan.scope(name);
  return layer.plan_forward(plan, x);
}

Flow plan_backward_in(Planner& plan, const char* name, Layer& layer, Flow dy) {
  const auto scope = plan.scope(name);
  return layer.plan_backward(plan, dy);
}

}  // namespace

GptBlock::GptBlock(const GptSpec& spec)
    : attention_({.heads = spec.heads,
                  .sequence = spec.context,
                  .deviation = kDeviation,
                  .projection_deviation = projection_deviation(spec)}),
      mlp_({.hidden = 4 * spec.channels,
            .deviation = kDeviation,
            .projection_deviation = projection_deviation(spec)}),
      attention_dropout_(dropout_of(spec)),
      mlp_dropout_(dropout_of(spec)) {}

Flow GptBlock::plan_forward(Planner& plan, Flow x) {
  auto branch = plan_forward_in(plan, "ln_1", attention_norm_, x);
  branch = plan_forward_in(plan, "attn", attention_, branch);
  branch = attention_dropout_.plan_forward(plan, branch);
  const auto middle = Flow::sum(attention_norm_.stream(), branch.first);
  branch = plan_forward_in(plan, "ln_2", mlp_norm_, middle);
  branch = plan_forward_in(plan, "mlp", mlp_, branch);
  branch = mlp_dropout_.plan_forward(plan, branch);
  return Flow::sum(mlp_norm_.stream(), branch.first);
}

// The gradient of a sum is that of both addends: `dy` goes down the branch and along the stream.
Flow GptBlock::plan_backward(Planner& plan, Flow dy) {
  auto d_stream = output_gradient_.plan(plan, dy);
  auto d_branch = mlp_dropout_.plan_backward(plan, Flow::of(d_stream));
  d_branch = plan_backward_in(plan, "mlp", mlp_, d_branch);
  {
    const auto scope = plan.scope("ln_2");
    d_stream = mlp_norm_.plan_backward(plan, d_branch, d_stream).first;
  }
  d_branch = attention_dropout_.plan_backward(plan, Flow::of(d_stream));
  d_branch = plan_backward_in(plan, "attn", attention_, d_branch);
  const auto scope = plan.scope("ln_1");
  return attention_norm_.plan_backward(plan, d_branch, d_stream);
}

void GptBlock::forward(Context& context) {
  attention_norm_.forward(context);
  attention_.forward(context);
  attention_dropout_.forward(context);
  mlp_norm_.forward(context);
  mlp_.forward(context);
  mlp_dropout_.forward(context);
}

void GptBlock::backward(Context& context) {
  output_gradient_.run(context);
  mlp_dropout_.backward(context);
  mlp_.backward(context);
  mlp_norm_.backward(context);
  attention_dropout_.backward(context);
  attention_.backward(context);
  attention_norm_.backward(context);
}

Gpt::Gpt(const GptSpec& spec)
    : embedding_({.vocabulary = spec.vocabulary,
                  .stored_vocabulary = spec.stored_vocabulary(),
                  .positions = spec.context,
                  .channels = spec.channels,
                  .deviation = kDeviation}),
      embedding_dropout_(dropout_of(spec)),
      head_({.channels = spec.stored_vocabulary(), .tail = LinearTail::None}) {
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    std::unique_ptr<Layer> block = std::make_unique<GptBlock>(spec);
    if (spec.recompute_blocks) block = std::make_unique<Recomputed>(std::move(block));
    blocks_.push_back(std::move(block));
  }
}

Flow Gpt::plan_forward(Planner& plan, Flow tokens) {
  auto flow = embedding_.plan_forward(plan, tokens);
  flow = embedding_dropout_.plan_forward(plan, flow);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto scope = plan.scope(fmt::format("h.{}", i));
    flow = blocks_[i]->plan_forward(plan, flow);
  }
  flow = plan_forward_in(plan, "ln_f", last_norm_, flow);
  head_.share_weight(embedding_.token_table());
  return plan_forward_in(plan, "lm_head", head_, flow);
}

Flow Gpt::plan_backward(Planner& plan, Flow dy) {
  dy = plan_backward_in(plan, "lm_head", head_, dy);
  dy = plan_backward_in(plan, "ln_f", last_norm_, dy);
  for (auto i = blocks_.size(); i-- > 0;) {
    const auto scope = plan.scope(fmt::format("h.{}", i));
    dy = blocks_[i]->plan_backward(plan, dy);
  }
  dy = embedding_dropout_.plan_backward(plan, dy);
  return embedding_.plan_backward(plan, dy);
}

void Gpt::forward(Context& context) {
  embedding_.forward(context);
  embedding_dropout_.forward(context);
  for (const auto& block : blocks_) block->forward(context);
  last_norm_.forward(context);
  head_.forward(context);
}

void Gpt::backward(Context& context) {
  head_.backward(context);
  last_norm_.backward(context);
  for (auto i = blocks_.size(); i-- > 0;) blocks_[i]->backward(context);
  embedding_dropout_.backward(context);
  embedding_.backward(context);
}

}  // namespace tandem
