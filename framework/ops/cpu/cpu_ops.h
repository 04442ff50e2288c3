// The CPU's implementations of the ops, one function and one source file each. OpBackend hands them out;
// tests and benchmarks of one op call its function directly.
//
// All of them enqueue closures that run on the stream's worker, and compute in fp32 on that one thread: a
// rank is one thread of arithmetic. Tensors are checked in the call, so a wrong shape throws where it was
// passed. Each function throws Error for a spec that it cannot run.
#pragma once

#include <memory>
#include <string_view>

#include "ops/backend.h"

namespace tandem {

// Throws Error unless the CPU computes in `dtype`. `op` names who asks.
inline void expect_cpu_dtype(std::string_view op, DType dtype) {
  TANDEM_EXPECT(dtype == DType::F32, "{}: the CPU computes in f32 only, the spec asks for {}", op,
                name_of(dtype));
}

std::unique_ptr<Conv2d> make_cpu_conv2d(const Conv2dSpec& spec);
std::unique_ptr<BatchNorm> make_cpu_batch_norm(const BatchNormSpec& spec);
std::unique_ptr<DualBatchNorm> make_cpu_dual_batch_norm(const BatchNormSpec& spec);
std::unique_ptr<NormMaxPool> make_cpu_norm_max_pool(const NormMaxPoolSpec& spec);
std::unique_ptr<Pool> make_cpu_pool(const PoolSpec& spec);
std::unique_ptr<Linear> make_cpu_linear(const LinearSpec& spec);
std::unique_ptr<LayerNorm> make_cpu_layer_norm(const LayerNormSpec& spec);
std::unique_ptr<Attention> make_cpu_attention(const AttentionSpec& spec);
std::unique_ptr<Embedding> make_cpu_embedding(const EmbeddingSpec& spec);
std::unique_ptr<SoftmaxCrossEntropy> make_cpu_softmax_cross_entropy(const SoftmaxCrossEntropySpec& spec);
std::unique_ptr<Dropout> make_cpu_dropout(const DropoutSpec& spec);
std::unique_ptr<ImageNormalize> make_cpu_image_normalize(const ImageNormalizeSpec& spec);
std::unique_ptr<Elementwise> make_cpu_elementwise();
std::unique_ptr<OptimizerUpdate> make_cpu_sgd(const SgdSpec& spec);
std::unique_ptr<OptimizerUpdate> make_cpu_adamw(const AdamWSpec& spec);
std::unique_ptr<GradientNorm> make_cpu_gradient_norm(const GradientNormSpec& spec);
std::unique_ptr<StepBookkeeping> make_cpu_step_bookkeeping(bool dynamic_loss_scale);

}  // namespace tandem
