// Makes the ops of one device.
#pragma once

#include <memory>

#include "ops/attention.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/dual_batch_norm.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/norm_max_pool.h"
#include "ops/optimizer_update.h"
#include "ops/pool.h"
#include "ops/softmax_cross_entropy.h"

namespace tandem {

// Every op is a spec and an interface; there is one implementation per op and backend. Making an op is where
// plans are built and tuned; calling it only enqueues. Ops keep no reference to the spec and may be used on
// any stream of the device, one call at a time; they outlive the work that was enqueued with them, and the
// backend outlives them. A spec that the backend cannot run throws Error with the spec in the message.
class OpBackend {
 public:
  virtual ~OpBackend() = default;
  // Whether a first convolution with stride 2 runs faster over blocks of 2 x 2 pixels of so many channels.
  virtual bool prefers_space_to_depth(std::int64_t channels, DType dtype) const = 0;
  virtual std::unique_ptr<Conv2d> make_conv2d(const Conv2dSpec& spec) = 0;
  virtual std::unique_ptr<BatchNorm> make_batch_norm(const BatchNormSpec& spec) = 0;
  virtual std::unique_ptr<DualBatchNorm> make_dual_batch_norm(const BatchNormSpec& spec) = 0;
  virtual std::unique_ptr<NormMaxPool> make_norm_max_pool(const NormMaxPoolSpec& spec) = 0;
  virtual std::unique_ptr<Pool> make_pool(const PoolSpec& spec) = 0;
  virtual std::unique_ptr<Linear> make_linear(const LinearSpec& spec) = 0;
  virtual std::unique_ptr<LayerNorm> make_layer_norm(const LayerNormSpec& spec) = 0;
  virtual std::unique_ptr<Attention> make_attention(const AttentionSpec& spec) = 0;
  virtual std::unique_ptr<Embedding> make_embedding(const EmbeddingSpec& spec) = 0;
  virtual std::unique_ptr<SoftmaxCrossEntropy> make_softmax_cross_entropy(
      const SoftmaxCrossEntropySpec& spec) = 0;
  virtual std::unique_ptr<Dropout> make_dropout(const DropoutSpec& spec) = 0;
  virtual std::unique_ptr<ImageNormalize> make_image_normalize(const ImageNormalizeSpec& spec) = 0;
  virtual std::unique_ptr<Elementwise> make_elementwise() = 0;
  virtual std::unique_ptr<OptimizerUpdate> make_sgd(const SgdSpec& spec) = 0;
  virtual std::unique_ptr<OptimizerUpdate> make_adamw(const AdamWSpec& spec) = 0;
  virtual std::unique_ptr<GradientNorm> make_gradient_norm(const GradientNormSpec& spec) = 0;
  virtual std::unique_ptr<StepBookkeeping> make_step_bookkeeping(bool dynamic_loss_scale) = 0;
};

}  // namespace tandem
