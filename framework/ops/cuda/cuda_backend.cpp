#include "ops/cuda/cuda_backend.h"

#include "ops/cuda/cuda_ops.h"

namespace tandem {
namespace {

class CudaBackend final : public OpBackend {
 public:
  CudaBackend(CudaDevice& device, const CudaBackendOptions& options) : context_(device, options) {}

  // Tensor cores take 16-bit channels by eights; three of them leave the fast kernels out.
  bool prefers_space_to_depth(std::int64_t channels, DType dtype) const override {
    return channels <= 4 && dtype != DType::F32;
  }
  std::unique_ptr<Conv2d> make_conv2d(const Conv2dSpec& spec) override {
    return make_cuda_conv2d(context_, spec);
  }
  std::unique_ptr<BatchNorm> make_batch_norm(const BatchNormSpec& spec) override {
    return make_cuda_batch_norm(context_, spec);
  }
  std::unique_ptr<DualBatchNorm> make_dual_batch_norm(const BatchNormSpec& spec) override {
    return make_cuda_dual_batch_norm(context_, spec);
  }
  std::unique_ptr<NormMaxPool> make_norm_max_pool(const NormMaxPoolSpec& spec) override {
    return make_cuda_norm_max_pool(context_, spec);
  }
  std::unique_ptr<Pool> make_pool(const PoolSpec& spec) override { return make_cuda_pool(context_, spec); }
  std::unique_ptr<Linear> make_linear(const LinearSpec& spec) override {
    return make_cuda_linear(context_, spec);
  }
  std::unique_ptr<LayerNorm> make_layer_norm(const LayerNormSpec& spec) override {
    return make_cuda_layer_norm(context_, spec);
  }
  std::unique_ptr<Attention> make_attention(const AttentionSpec& spec) override {
    return make_cuda_attention(context_, spec);
  }
  std::unique_ptr<Embedding> make_embedding(const EmbeddingSpec& spec) override {
    return make_cuda_embedding(context_, spec);
  }
  std::unique_ptr<SoftmaxCrossEntropy> make_softmax_cross_entropy(
      const SoftmaxCrossEntropySpec& spec) override {
    return make_cuda_softmax_cross_entropy(context_, spec);
  }
  std::unique_ptr<Dropout> make_dropout(const DropoutSpec& spec) override {
    return make_cuda_dropout(context_, spec);
  }
  std::unique_ptr<ImageNormalize> make_image_normalize(const ImageNormalizeSpec& spec) override {
    return make_cuda_image_normalize(context_, spec);
  }
  std::unique_ptr<Elementwise> make_elementwise() override { return make_cuda_elementwise(context_); }
  std::unique_ptr<OptimizerUpdate> make_sgd(const SgdSpec& spec) override {
    return make_cuda_sgd(context_, spec);
  }
  std::unique_ptr<OptimizerUpdate> make_adamw(const AdamWSpec& spec) override {
    return make_cuda_adamw(context_, spec);
  }
  std::unique_ptr<GradientNorm> make_gradient_norm(const GradientNormSpec& spec) override {
    return make_cuda_gradient_norm(context_, spec);
  }
  std::unique_ptr<StepBookkeeping> make_step_bookkeeping(bool dynamic_loss_scale) override {
    return make_cuda_step_bookkeeping(context_, dynamic_loss_scale);
  }

 private:
  CudaContext context_;
};

}  // namespace

std::unique_ptr<OpBackend> make_cuda_backend(CudaDevice& device, const CudaBackendOptions& options) {
  return std::make_unique<CudaBackend>(device, options);
}

}  // namespace tandem
