// Composed of two normalisations; what goes from one to the other lies in the workspace.
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

BatchNormSpec without_tail(BatchNormSpec spec) {
  spec.tail = NormTail::None;
  return spec;
}

class CpuDualBatchNorm final : public DualBatchNorm {
 public:
  explicit CpuDualBatchNorm(const BatchNormSpec& spec)
      : shape_{spec.rows, spec.C},
        last_(make_cpu_batch_norm(spec)),
        shortcut_(make_cpu_batch_norm(without_tail(spec))) {}

  ByteCount saved_bytes() const override { return shortcut_at() + shortcut_->saved_bytes(); }
  ByteCount workspace_bytes() const override { return bytes_of(shape_.elements(), DType::F32); }

  void forward_train(Stream& stream, const Branches& branches, TensorView y, TensorView saved,
                     TensorView workspace) override {
    const auto between = matrix_in(workspace);
    shortcut_->forward_train(stream, branches[1].x, {}, branches[1].parameters, between,
                             saved_by_shortcut(saved), {});
    last_->forward_train(stream, branches[0].x, between, branches[0].parameters, y, saved, {});
  }

  void forward_evaluate(Stream& stream, const Branches& branches, TensorView y,
                        TensorView workspace) override {
    const auto between = matrix_in(workspace);
    shortcut_->forward_evaluate(stream, branches[1].x, {}, branches[1].parameters, between);
    last_->forward_evaluate(stream, branches[0].x, between, branches[0].parameters, y);
  }

  void backward(Stream& stream, const Branches& branches, const Backward& tensors) override {
    const auto between = matrix_in(tensors.workspace);
    const auto& [last, shortcut] = tensors.branches;
    last_->backward(stream, branches[0].parameters,
                    {.dy = tensors.dy,
                     .x = branches[0].x,
                     .saved = tensors.saved,
                     .dx = last.dx,
                     .d_residual = between,
                     .d_scale = last.d_scale,
                     .d_bias = last.d_bias,
                     .workspace = {}});
    shortcut_->backward(stream, branches[1].parameters,
                        {.dy = {between, {}},
                         .x = branches[1].x,
                         .saved = saved_by_shortcut(tensors.saved),
                         .dx = shortcut.dx,
                         .d_residual = {},
                         .d_scale = shortcut.d_scale,
                         .d_bias = shortcut.d_bias,
                         .workspace = {}});
  }

 private:
  TensorView matrix_in(const TensorView& workspace) const {
    expect_memory("dual_batch_norm workspace", workspace, workspace_bytes());
    return TensorView(workspace.raw(), DType::F32, shape_);
  }
  // `saved`: what the last one saves, then what the shortcut's does.
  ByteCount shortcut_at() const { return last_->saved_bytes().rounded_up(ByteCount(64)); }
  TensorView saved_by_shortcut(const TensorView& saved) const {
    expect_memory("dual_batch_norm saved", saved, saved_bytes());
    return TensorView(static_cast<char*>(saved.raw()) + shortcut_at().value(), DType::U8,
                      {shortcut_->saved_bytes().value()});
  }

  Shape shape_;
  std::unique_ptr<BatchNorm> last_, shortcut_;
};

}  // namespace

std::unique_ptr<DualBatchNorm> make_cpu_dual_batch_norm(const BatchNormSpec& spec) {
  expect_valid_dual(spec);
  expect_cpu_dtype("dual_batch_norm", spec.dtype);
  return std::make_unique<CpuDualBatchNorm>(spec);
}

}  // namespace tandem
