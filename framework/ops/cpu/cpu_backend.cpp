#include "ops/cpu/cpu_backend.h"

#include "ops/cpu/cpu_ops.h"

namespace tandem {
namespace {

class CpuBackend final : public OpBackend {
 public:
  // Zeros behind the channels cost as much as pixels here.
  bool prefers_space_to_depth(std::int64_t, DType) const override { return false; }
  std::unique_ptr<Conv2d> make_conv2d(const Conv2dSpec& spec) override { return make_cpu_conv2d(spec); }
  std::unique_ptr<BatchNorm> make_batch_norm(const BatchNormSpec& spec) override {
    return make_cpu_batch_norm(spec);
  }
  std::unique_ptr<DualBatchNorm> make_dual_batch_norm(const BatchNormSpec& spec) override {
    return make_cpu_dual_batch_norm(spec);
  }
  std::unique_ptr<NormMaxPool> make_norm_max_pool(const NormMaxPoolSpec& spec) override {
    return make_cpu_norm_max_pool(spec);
  }
  std::unique_ptr<Pool> make_pool(const PoolSpec& spec) override { return make_cpu_pool(spec); }
  std::unique_ptr<Linear> make_linear(const LinearSpec& spec) override { return make_cpu_linear(spec); }
  std::unique_ptr<LayerNorm> make_layer_norm(const LayerNormSpec& spec) override {
    return make_cpu_layer_norm(spec);
  }
  std::unique_ptr<Attention> make_attention(const AttentionSpec& spec) override {
    return make_cpu_attention(spec);
  }
  std::unique_ptr<Embedding> make_embedding(const EmbeddingSpec& spec) override {
    return make_cpu_embedding(spec);
  }
  std::unique_ptr<SoftmaxCrossEntropy> make_softmax_cross_entropy(
      const SoftmaxCrossEntropySpec& spec) override {
    return make_cpu_softmax_cross_entropy(spec);
  }
  std::unique_ptr<Dropout> make_dropout(const DropoutSpec& spec) override { return make_cpu_dropout(spec); }
  std::unique_ptr<ImageNormalize> make_image_normalize(const ImageNormalizeSpec& spec) override {
    return make_cpu_image_normalize(spec);
  }
  std::unique_ptr<Elementwise> make_elementwise() override { return make_cpu_elementwise(); }
  std::unique_ptr<OptimizerUpdate> make_sgd(const SgdSpec& spec) override { return make_cpu_sgd(spec); }
  std::unique_ptr<OptimizerUpdate> make_adamw(const AdamWSpec& spec) override { return make_cpu_adamw(spec); }
  std::unique_ptr<GradientNorm> make_gradient_norm(const GradientNormSpec& spec) override {
    return make_cpu_gradient_norm(spec);
  }
  std::unique_ptr<StepBookkeeping> make_step_bookkeeping(bool dynamic_loss_scale) override {
    return make_cpu_step_bookkeeping(dynamic_loss_scale);
  }
};

}  // namespace

std::unique_ptr<OpBackend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

}  // namespace tandem
