#include "layers/attention_layer.h"

namespace tandem {

Flow AttentionLayer::plan_forward(Planner& plan, Flow x) {
  const Shape in = plan.shape(x.first);
  TANDEM_EXPECT(in.rank() == 2 && in[0] % options_.sequence == 0 && in[1] % options_.heads == 0,
                "{} takes [B * {}, {} * head channels], got {}", plan.path("attention"), options_.sequence,
                options_.heads, in.to_string());
  const auto channels = in[1];
  op_ = plan.ops().make_attention({.B = in[0] / options_.sequence,
                                   .T = options_.sequence,
                                   .heads = options_.heads,
                                   .D = channels / options_.heads,
                                   .dtype = plan.compute_dtype()});
  pack_ =
      std::make_unique<LinearLayer>(LinearOptions{.channels = 3 * channels, .deviation = options_.deviation});
  project_ = std::make_unique<LinearLayer>(
      LinearOptions{.channels = channels, .deviation = options_.projection_deviation});
  {
    const auto scope = plan.scope("c_attn");
    qkv_ = pack_->plan_forward(plan, x).first;
  }
  out_ = plan.tensor("out", in);
  saved_ = plan.bytes("saved", op_->saved_bytes());
  forward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op({reads(qkv_), writes(out_), writes(saved_), updates(forward_workspace_)});
  plan.multiply_adds(2 * in[0] * options_.sequence * channels);  // q k^T and p v
  const auto scope = plan.scope("c_proj");
  return project_->plan_forward(plan, Flow::of(out_));
}

Flow AttentionLayer::plan_backward(Planner& plan, Flow dy) {
  {
    const auto scope = plan.scope("c_proj");
    d_out_ = project_->plan_backward(plan, dy).first;
  }
  d_qkv_ = plan.tensor("d_qkv", plan.shape(qkv_));
  backward_workspace_ = plan.bytes("workspace", op_->workspace_bytes());
  plan.op(
      {reads(qkv_), reads(out_), reads(d_out_), reads(saved_), writes(d_qkv_), updates(backward_workspace_)});
  const Shape out = plan.shape(out_);
  plan.multiply_adds(4 * out[0] * options_.sequence * out[1]);  // dp, dv, dq and dk
  const auto scope = plan.scope("c_attn");
  return pack_->plan_backward(plan, Flow::of(d_qkv_));
}

void AttentionLayer::forward(Context& context) {
  pack_->forward(context);
  op_->forward(context.stream(), context.read(qkv_), context.write(out_), context.write(saved_),
               context.update(forward_workspace_));
  project_->forward(context);
}

void AttentionLayer::backward(Context& context) {
  project_->backward(context);
  op_->backward(context.stream(), {.qkv = context.read(qkv_),
                                   .out = context.read(out_),
                                   .d_out = context.read(d_out_),
                                   .saved = context.read(saved_),
                                   .d_qkv = context.write(d_qkv_),
                                   .workspace = context.update(backward_workspace_)});
  pack_->backward(context);
}

}  // namespace tandem
