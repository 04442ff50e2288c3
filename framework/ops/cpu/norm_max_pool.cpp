// Composed of a normalisation and a pool; what goes from one to the other lies in the workspace.
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CpuNormMaxPool final : public NormMaxPool {
 public:
  explicit CpuNormMaxPool(const NormMaxPoolSpec& spec)
      : image_{spec.N, spec.H, spec.W, spec.C},
        matrix_{spec.norm().rows, spec.C},
        norm_(make_cpu_batch_norm(spec.norm())),
        pool_(make_cpu_pool(spec.pool())) {}

  ByteCount saved_bytes() const override { return pool_saved_at() + pool_->saved_bytes(); }
  ByteCount workspace_bytes() const override { return bytes_of(image_.elements(), DType::F32); }

  void forward_train(Stream& stream, const BatchNormParameters& parameters, const Forward& tensors) override {
    const auto between = between_in(tensors.workspace);
    expect_tensor("norm_max_pool x", tensors.x, DType::F32, image_);
    norm_->forward_train(stream, tensors.x.reshaped(matrix_), {}, parameters, between.reshaped(matrix_),
                         tensors.saved, {});
    pool_->forward(stream, between, tensors.y, saved_by_pool(tensors.saved));
  }

  void forward_evaluate(Stream& stream, const BatchNormParameters& parameters,
                        const Forward& tensors) override {
    const auto between = between_in(tensors.workspace);
    expect_tensor("norm_max_pool x", tensors.x, DType::F32, image_);
    norm_->forward_evaluate(stream, tensors.x.reshaped(matrix_), {}, parameters, between.reshaped(matrix_));
    pool_->forward(stream, between, tensors.y, saved_by_pool(tensors.saved));
  }

  void backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) override {
    const auto between = between_in(tensors.workspace);
    expect_tensor("norm_max_pool x", tensors.x, DType::F32, image_);
    expect_tensor("norm_max_pool dx", tensors.dx, DType::F32, image_);
    pool_->backward(stream, tensors.dy, saved_by_pool(tensors.saved), between);
    norm_->backward(stream, parameters,
                    {.dy = {between.reshaped(matrix_), {}},
                     .x = tensors.x.reshaped(matrix_),
                     .saved = tensors.saved,
                     .dx = tensors.dx.reshaped(matrix_),
                     .d_residual = {},
                     .d_scale = tensors.d_scale,
                     .d_bias = tensors.d_bias,
                     .workspace = {}});
  }

 private:
  TensorView between_in(const TensorView& workspace) const {
    expect_memory("norm_max_pool workspace", workspace, workspace_bytes());
    return TensorView(workspace.raw(), DType::F32, image_);
  }
  // `saved`: what the normalisation saves, then the winners.
  ByteCount pool_saved_at() const { return norm_->saved_bytes().rounded_up(ByteCount(64)); }
  TensorView saved_by_pool(const TensorView& saved) const {
    expect_memory("norm_max_pool saved", saved, saved_bytes());
    return TensorView(static_cast<char*>(saved.raw()) + pool_saved_at().value(), DType::U8,
                      {pool_->saved_bytes().value()});
  }

  Shape image_, matrix_;
  std::unique_ptr<BatchNorm> norm_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace

std::unique_ptr<NormMaxPool> make_cpu_norm_max_pool(const NormMaxPoolSpec& spec) {
  expect_valid(spec.norm());
  expect_valid(spec.pool());
  expect_cpu_dtype("norm_max_pool", spec.dtype);
  return std::make_unique<CpuNormMaxPool>(spec);
}

}  // namespace tandem
