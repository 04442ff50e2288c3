// The gradient norm and the bookkeeping around a step, by own kernels.
#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/step_kernels.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaGradientNorm final : public GradientNorm {
 public:
  CudaGradientNorm(CudaContext& context, const GradientNormSpec& spec)
      : spec_(spec), blocks_(gradient_norm_blocks(spec.elements, context.device().multiprocessors())) {}

  ByteCount workspace_bytes() const override {
    return ByteCount(blocks_ * static_cast<std::int64_t>(sizeof(double)));
  }

  void measure(Stream& stream, TensorView gradients, StepPointers pointers, TensorView workspace) override {
    expect_float_dtype("gradient_norm gradients", gradients.dtype());
    expect_tensor("gradient_norm gradients", gradients, gradients.dtype(), {spec_.elements});
    expect_memory("gradient_norm workspace", workspace, workspace_bytes());
    TANDEM_EXPECT(pointers.training != nullptr, "gradient_norm: measure writes training: it is null");
    TANDEM_CUDA(launch_gradient_norm({.gradients = {gradients.raw(), gradients.dtype()},
                                      .elements = spec_.elements,
                                      .clip_norm = static_cast<double>(spec_.clip_norm),
                                      .clip_epsilon = kClipEpsilon,
                                      .blocks = blocks_,
                                      .partial_sums = static_cast<double*>(workspace.raw()),
                                      .training = pointers.training},
                                     as_cuda(stream).raw()));
  }

 private:
  GradientNormSpec spec_;
  int blocks_;
};

class CudaStepBookkeeping final : public StepBookkeeping {
 public:
  explicit CudaStepBookkeeping(bool dynamic_loss_scale)
      : rule_{dynamic_loss_scale ? kStepsUntilLossScaleDoubles : 0, kSmallestLossScale, kLargestLossScale} {}

  void begin(Stream& stream, StepPointers pointers) override {
    TANDEM_EXPECT(pointers.results != nullptr, "step_bookkeeping: begin clears results: it is null");
    TANDEM_CUDA(launch_clear_results(pointers.results, as_cuda(stream).raw()));
  }

  void end(Stream& stream, StepPointers pointers) override {
    TANDEM_EXPECT(pointers.training != nullptr && pointers.results != nullptr,
                  "step_bookkeeping: end moves training and writes results: one is null");
    TANDEM_CUDA(launch_end_step(pointers.training, pointers.results, rule_, as_cuda(stream).raw()));
  }

 private:
  LossScaleRule rule_;
};

}  // namespace

std::unique_ptr<GradientNorm> make_cuda_gradient_norm(CudaContext& context, const GradientNormSpec& spec) {
  expect_valid(spec);
  return std::make_unique<CudaGradientNorm>(context, spec);
}

std::unique_ptr<StepBookkeeping> make_cuda_step_bookkeeping(CudaContext&, bool dynamic_loss_scale) {
  return std::make_unique<CudaStepBookkeeping>(dynamic_loss_scale);
}

}  // namespace tandem
