// Softmax cross-entropy by own kernels.
#include <limits>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/softmax_cross_entropy_kernels.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

// What a block may have beside the few hundred bytes of its reductions.
int shared_bytes_of(const CudaDevice& device) {
  constexpr int kReserved = 1024;
  int bytes = 0;
  TANDEM_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.ordinal()));
  return bytes - kReserved;
}

class CudaSoftmaxCrossEntropy final : public SoftmaxCrossEntropy {
 public:
  CudaSoftmaxCrossEntropy(CudaContext& context, const SoftmaxCrossEntropySpec& spec)
      : spec_(spec), shape_{spec.rows,   spec.classes,
                            spec.stride, spec.label_smoothing,
                            spec.dtype,  shared_bytes_of(context.device())} {
    TANDEM_CUDA(cudaSetDevice(context.device().ordinal()));
    TANDEM_CUDA(prepare_cross_entropy(shape_));
  }

  ByteCount workspace_bytes() const override {
    return ByteCount(spec_.rows * static_cast<std::int64_t>(sizeof(RowLoss)));
  }

  void train(Stream& stream, TensorView logits, TensorView targets, StepPointers step,
             TensorView workspace) override {
    TANDEM_EXPECT(step.inputs != nullptr && step.training != nullptr && step.results != nullptr,
                  "softmax_cross_entropy: train reads inputs and training and writes results: one is null");
    run(stream, logits, targets, true, step, workspace);
  }

  void evaluate(Stream& stream, TensorView logits, TensorView targets, StepPointers step,
                TensorView workspace) override {
    TANDEM_EXPECT(step.results != nullptr, "softmax_cross_entropy: evaluate writes results: it is null");
    run(stream, logits, targets, false, step, workspace);
  }

 private:
  void run(Stream& stream, const TensorView& logits, const TensorView& targets, bool train, StepPointers step,
           const TensorView& workspace) const {
    expect_tensor("softmax_cross_entropy logits", logits, spec_.dtype, {spec_.rows, spec_.stride});
    expect_tensor("softmax_cross_entropy targets", targets, DType::I32, {spec_.rows});
    expect_memory("softmax_cross_entropy workspace", workspace, workspace_bytes());
    TANDEM_CUDA(launch_cross_entropy(shape_, logits.raw(), targets.data<std::int32_t>(), train, step,
                                     static_cast<RowLoss*>(workspace.raw()), as_cuda(stream).raw()));
  }

  SoftmaxCrossEntropySpec spec_;
  CrossEntropyShape shape_;
};

}  // namespace

std::unique_ptr<SoftmaxCrossEntropy> make_cuda_softmax_cross_entropy(CudaContext& context,
                                                                     const SoftmaxCrossEntropySpec& spec) {
  expect_valid(spec);
  expect_float_dtype("softmax_cross_entropy", spec.dtype);
  TANDEM_EXPECT(spec.rows <= std::numeric_limits<std::int32_t>::max(),
                "softmax_cross_entropy: expected at most 2^31 - 1 rows, found {}", spec.rows);
  return std::make_unique<CudaSoftmaxCrossEntropy>(context, spec);
}

}  // namespace tandem
