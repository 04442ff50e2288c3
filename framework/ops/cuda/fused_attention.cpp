// Attention through cuDNN's SDPA, straight on the packed layout.
#include <algorithm>

#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/dnn.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class FusedAttention final : public Attention {
 public:
  FusedAttention(CudaContext& context, const AttentionSpec& spec)
      : spec_(spec),
        forward_(context.dnn().attention(context, spec, false)),
        backward_(context.dnn().attention(context, spec, true)),
        workspace_(std::max(forward_->workspace_bytes(), backward_->workspace_bytes())) {}

  ByteCount saved_bytes() const override {
    return bytes_of(ElementCount(spec_.B * spec_.heads * spec_.T), DType::F32);
  }
  ByteCount workspace_bytes() const override { return workspace_; }

  void forward(Stream& stream, TensorView qkv, TensorView out, TensorView saved,
               TensorView workspace) override {
    expect_tensor("attention qkv", qkv, spec_.dtype, packed());
    expect_tensor("attention out", out, spec_.dtype, merged());
    expect_memory("attention saved", saved, saved_bytes());
    expect_memory("attention workspace", workspace, workspace_);
    forward_->run(stream,
                  {{AttentionOperand::kQ, part(qkv, 0)},
                   {AttentionOperand::kK, part(qkv, 1)},
                   {AttentionOperand::kV, part(qkv, 2)},
                   {AttentionOperand::kOut, out.raw()},
                   {AttentionOperand::kStatistics, saved.raw()}},
                  workspace.raw());
  }

  void backward(Stream& stream, const Backward& tensors) override {
    expect_tensor("attention qkv", tensors.qkv, spec_.dtype, packed());
    expect_tensor("attention out", tensors.out, spec_.dtype, merged());
    expect_tensor("attention d_out", tensors.d_out, spec_.dtype, merged());
    expect_tensor("attention d_qkv", tensors.d_qkv, spec_.dtype, packed());
    expect_memory("attention saved", tensors.saved, saved_bytes());
    expect_memory("attention workspace", tensors.workspace, workspace_);
    backward_->run(stream,
                   {{AttentionOperand::kQ, part(tensors.qkv, 0)},
                    {AttentionOperand::kK, part(tensors.qkv, 1)},
                    {AttentionOperand::kV, part(tensors.qkv, 2)},
                    {AttentionOperand::kOut, tensors.out.raw()},
                    {AttentionOperand::kDOut, tensors.d_out.raw()},
                    {AttentionOperand::kStatistics, tensors.saved.raw()},
                    {AttentionOperand::kDQ, part(tensors.d_qkv, 0)},
                    {AttentionOperand::kDK, part(tensors.d_qkv, 1)},
                    {AttentionOperand::kDV, part(tensors.d_qkv, 2)}},
                   tensors.workspace.raw());
  }

 private:
  Shape packed() const { return {spec_.B * spec_.T, 3 * spec_.heads * spec_.D}; }
  Shape merged() const { return {spec_.B * spec_.T, spec_.heads * spec_.D}; }

  // Where the first row's queries (0), keys (1) or values (2) begin.
  void* part(const TensorView& qkv, std::int64_t which) const {
    const auto offset = bytes_of(ElementCount(which * spec_.heads * spec_.D), spec_.dtype);
    return static_cast<char*>(qkv.raw()) + offset.value();
  }

  AttentionSpec spec_;
  std::shared_ptr<const DnnPlan> forward_, backward_;
  ByteCount workspace_;
};

// What the fused kernels take: 16-bit types, heads of whole 16-byte rows and of at most 128 channels, and
// more than one token.
bool fits_fused(const AttentionSpec& spec) {
  return spec.dtype != DType::F32 && spec.D % 8 == 0 && spec.D <= 128 && spec.T > 1;
}

}  // namespace

std::unique_ptr<Attention> make_cuda_fused_attention(CudaContext& context, const AttentionSpec& spec) {
  return std::make_unique<FusedAttention>(context, spec);
}

std::unique_ptr<Attention> make_cuda_attention(CudaContext& context, const AttentionSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("attention", spec.dtype);
  return fits_fused(spec) ? make_cuda_fused_attention(context, spec)
                          : make_cuda_matmul_attention(context, spec);
}

}  // namespace tandem
