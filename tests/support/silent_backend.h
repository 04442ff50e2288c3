// Ops that plan like real ones and compute nothing: for tests of plans, whatever the size of the network.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace tandem {

// All ops want scratch and memory to save, so that every use a layer can plan is planned.
inline constexpr ByteCount kSilentScratch{72};

struct SilentConv2d final : Conv2d {
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward(Stream&, TensorView, TensorView, TensorView, TensorView) override {}
  void backward_weight(Stream&, TensorView, TensorView, GradTarget, TensorView) override {}
  void backward_input(Stream&, TensorView, TensorView, TensorView, TensorView) override {}
};

struct SilentBatchNorm final : BatchNorm {
  ByteCount saved_bytes() const override { return kSilentScratch; }
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward_train(Stream&, TensorView, TensorView, const BatchNormParameters&, TensorView, TensorView,
                     TensorView) override {}
  void forward_evaluate(Stream&, TensorView, TensorView, const BatchNormParameters&, TensorView) override {}
  void backward(Stream&, const BatchNormParameters&, const Backward&) override {}
};

struct SilentDualBatchNorm final : DualBatchNorm {
  ByteCount saved_bytes() const override { return kSilentScratch; }
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward_train(Stream&, const Branches&, TensorView, TensorView, TensorView) override {}
  void forward_evaluate(Stream&, const Branches&, TensorView, TensorView) override {}
  void backward(Stream&, const Branches&, const Backward&) override {}
};

struct SilentNormMaxPool final : NormMaxPool {
  ByteCount saved_bytes() const override { return kSilentScratch; }
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward_train(Stream&, const BatchNormParameters&, const Forward&) override {}
  void forward_evaluate(Stream&, const BatchNormParameters&, const Forward&) override {}
  void backward(Stream&, const BatchNormParameters&, const Backward&) override {}
};

struct SilentPool final : Pool {
  ByteCount saved_bytes() const override { return kSilentScratch; }
  void forward(Stream&, TensorView, TensorView, TensorView) override {}
  void backward(Stream&, Addends, TensorView, TensorView) override {}
};

struct SilentLinear final : Linear {
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward(Stream&, const Forward&) override {}
  void backward_weight(Stream&, TensorView, TensorView, GradTarget, TensorView) override {}
  void backward_bias(Stream&, TensorView, GradTarget, TensorView) override {}
  void backward_input(Stream&, TensorView, TensorView, TensorView, TensorView, TensorView) override {}
};

struct SilentLayerNorm final : LayerNorm {
  ByteCount saved_bytes() const override { return kSilentScratch; }
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward(Stream&, const Forward&) override {}
  void backward(Stream&, const Backward&) override {}
};

struct SilentAttention final : Attention {
  ByteCount saved_bytes() const override { return kSilentScratch; }
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward(Stream&, TensorView, TensorView, TensorView, TensorView) override {}
  void backward(Stream&, const Backward&) override {}
};

struct SilentEmbedding final : Embedding {
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void forward(Stream&, TensorView, TensorView, TensorView, TensorView) override {}
  void backward_tokens(Stream&, TensorView, TensorView, GradTarget, TensorView) override {}
  void backward_positions(Stream&, TensorView, GradTarget, TensorView) override {}
};

struct SilentSoftmaxCrossEntropy final : SoftmaxCrossEntropy {
  ByteCount workspace_bytes() const override { return kSilentScratch; }
  void train(Stream&, TensorView, TensorView, StepPointers, TensorView) override {}
  void evaluate(Stream&, TensorView, TensorView, StepPointers, TensorView) override {}
};

struct SilentDropout final : Dropout {
  void apply(Stream&, TensorView, TensorView) override {}
};

struct SilentImageNormalize final : ImageNormalize {
  void forward(Stream&, TensorView, TensorView) override {}
};

struct SilentElementwise final : Elementwise {
  void add(Stream&, Addends, TensorView) override {}
  void cast(Stream&, TensorView, TensorView) override {}
  void zero_padding(Stream&, const BlockedFilter&, TensorView) override {}
};

// Layers make no updates, so there are none.
class SilentBackend : public OpBackend {
 public:
  bool prefers_space_to_depth(std::int64_t, DType dtype) const override { return dtype != DType::F32; }
  std::unique_ptr<Conv2d> make_conv2d(const Conv2dSpec&) override { return std::make_unique<SilentConv2d>(); }
  std::unique_ptr<BatchNorm> make_batch_norm(const BatchNormSpec&) override {
    return std::make_unique<SilentBatchNorm>();
  }
  std::unique_ptr<DualBatchNorm> make_dual_batch_norm(const BatchNormSpec&) override {
    return std::make_unique<SilentDualBatchNorm>();
  }
  std::unique_ptr<NormMaxPool> make_norm_max_pool(const NormMaxPoolSpec&) override {
    return std::make_unique<SilentNormMaxPool>();
  }
  std::unique_ptr<Pool> make_pool(const PoolSpec&) override { return std::make_unique<SilentPool>(); }
  std::unique_ptr<Linear> make_linear(const LinearSpec&) override { return std::make_unique<SilentLinear>(); }
  std::unique_ptr<LayerNorm> make_layer_norm(const LayerNormSpec&) override {
    return std::make_unique<SilentLayerNorm>();
  }
  std::unique_ptr<Attention> make_attention(const AttentionSpec&) override {
    return std::make_unique<SilentAttention>();
  }
  std::unique_ptr<Embedding> make_embedding(const EmbeddingSpec&) override {
    return std::make_unique<SilentEmbedding>();
  }
  std::unique_ptr<SoftmaxCrossEntropy> make_softmax_cross_entropy(const SoftmaxCrossEntropySpec&) override {
    return std::make_unique<SilentSoftmaxCrossEntropy>();
  }
  std::unique_ptr<Dropout> make_dropout(const DropoutSpec&) override {
    return std::make_unique<SilentDropout>();
  }
  std::unique_ptr<ImageNormalize> make_image_normalize(const ImageNormalizeSpec&) override {
    return std::make_unique<SilentImageNormalize>();
  }
  std::unique_ptr<Elementwise> make_elementwise() override { return std::make_unique<SilentElementwise>(); }
  std::unique_ptr<OptimizerUpdate> make_sgd(const SgdSpec&) override { return nullptr; }
  std::unique_ptr<OptimizerUpdate> make_adamw(const AdamWSpec&) override { return nullptr; }
  std::unique_ptr<GradientNorm> make_gradient_norm(const GradientNormSpec&) override { return nullptr; }
  std::unique_ptr<StepBookkeeping> make_step_bookkeeping(bool) override { return nullptr; }
};

}  // namespace tandem
