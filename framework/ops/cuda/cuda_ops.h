// The GPU's implementations of the ops, one function and one source file each. OpBackend hands them out;
// tests and benchmarks of one op call its function directly.
//
// All of them enqueue on the stream's GPU and never wait; tensors are checked in the call, so a wrong shape
// throws where it was passed. Ops that tune do so while they are made. Each function throws Error for a spec
// that it cannot run.
#pragma once

#include <memory>

#include "ops/backend.h"
#include "ops/cuda/cuda_context.h"

namespace tandem {

std::unique_ptr<Conv2d> make_cuda_conv2d(CudaContext& context, const Conv2dSpec& spec);
std::unique_ptr<BatchNorm> make_cuda_batch_norm(CudaContext& context, const BatchNormSpec& spec);
std::unique_ptr<DualBatchNorm> make_cuda_dual_batch_norm(CudaContext& context, const BatchNormSpec& spec);
std::unique_ptr<NormMaxPool> make_cuda_norm_max_pool(CudaContext& context, const NormMaxPoolSpec& spec);
std::unique_ptr<Pool> make_cuda_pool(CudaContext& context, const PoolSpec& spec);
std::unique_ptr<Linear> make_cuda_linear(CudaContext& context, const LinearSpec& spec);
std::unique_ptr<LayerNorm> make_cuda_layer_norm(CudaContext& context, const LayerNormSpec& spec);
std::unique_ptr<Embedding> make_cuda_embedding(CudaContext& context, const EmbeddingSpec& spec);
std::unique_ptr<SoftmaxCrossEntropy> make_cuda_softmax_cross_entropy(CudaContext& context,
                                                                     const SoftmaxCrossEntropySpec& spec);
std::unique_ptr<Dropout> make_cuda_dropout(CudaContext& context, const DropoutSpec& spec);
std::unique_ptr<ImageNormalize> make_cuda_image_normalize(CudaContext& context,
                                                          const ImageNormalizeSpec& spec);
std::unique_ptr<Elementwise> make_cuda_elementwise(CudaContext& context);
std::unique_ptr<OptimizerUpdate> make_cuda_sgd(CudaContext& context, const SgdSpec& spec);
std::unique_ptr<OptimizerUpdate> make_cuda_adamw(CudaContext& context, const AdamWSpec& spec);
std::unique_ptr<GradientNorm> make_cuda_gradient_norm(CudaContext& context, const GradientNormSpec& spec);
std::unique_ptr<StepBookkeeping> make_cuda_step_bookkeeping(CudaContext& context, bool dynamic_loss_scale);

// Attention has two: cuDNN's fused one for 16-bit types, plain matrix products for the rest.
std::unique_ptr<Attention> make_cuda_attention(CudaContext& context, const AttentionSpec& spec);
std::unique_ptr<Attention> make_cuda_fused_attention(CudaContext& context, const AttentionSpec& spec);
std::unique_ptr<Attention> make_cuda_matmul_attention(CudaContext& context, const AttentionSpec& spec);

}  // namespace tandem
