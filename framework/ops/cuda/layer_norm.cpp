// Layer normalisation by own kernels.
#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/gradient_target.h"
#include "ops/cuda/layer_norm_kernels.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaLayerNorm final : public LayerNorm {
 public:
  CudaLayerNorm(CudaContext& context, const LayerNormSpec& spec)
      : spec_(spec), shape_{spec.rows, spec.C, spec.epsilon, spec.dtype, context.device().multiprocessors()} {
    TANDEM_EXPECT(
        layer_norm_fits(shape_),
        "layer_norm rows={} C={}: C is too wide, at most 8192, or 1024 where it is no multiple of 8",
        spec.rows, spec.C);
    TANDEM_CUDA(cudaSetDevice(context.device().ordinal()));
    TANDEM_CUDA(prepare_layer_norm_backward(shape_));
  }

  ByteCount saved_bytes() const override { return bytes_of(ElementCount(2 * spec_.rows), DType::F32); }
  ByteCount workspace_bytes() const override {
    return bytes_of(ElementCount(layer_norm_partial_floats(shape_)), DType::F32);
  }
  void forward(Stream& stream, const Forward& tensors) override;
  void backward(Stream& stream, const Backward& tensors) override;

 private:
  LayerNormSpec spec_;
  LayerNormShape shape_;
};

void CudaLayerNorm::forward(Stream& stream, const Forward& tensors) {
  const Shape rows{spec_.rows, spec_.C};
  expect_tensor("layer_norm x.first", tensors.x.first, spec_.dtype, rows);
  if (tensors.x.second.empty()) {
    expect_no_tensor("layer_norm sum", tensors.sum);
  } else {
    expect_tensor("layer_norm x.second", tensors.x.second, spec_.dtype, rows);
    expect_tensor("layer_norm sum", tensors.sum, spec_.dtype, rows);
  }
  expect_tensor("layer_norm scale", tensors.scale, DType::F32, {spec_.C});
  expect_tensor("layer_norm bias", tensors.bias, DType::F32, {spec_.C});
  expect_tensor("layer_norm y", tensors.y, spec_.dtype, rows);
  expect_memory("layer_norm saved", tensors.saved, saved_bytes());
  TANDEM_CUDA(launch_layer_norm_forward(shape_,
                                        {.first = tensors.x.first.raw(),
                                         .second = tensors.x.second.raw(),
                                         .scale = tensors.scale.data<float>(),
                                         .bias = tensors.bias.data<float>(),
                                         .sum = tensors.sum.raw(),
                                         .y = tensors.y.raw(),
                                         .saved = static_cast<float*>(tensors.saved.raw())},
                                        as_cuda(stream).raw()));
}

void CudaLayerNorm::backward(Stream& stream, const Backward& tensors) {
  const Shape rows{spec_.rows, spec_.C};
  expect_tensor("layer_norm dy", tensors.dy, spec_.dtype, rows);
  expect_tensor("layer_norm x", tensors.x, spec_.dtype, rows);
  expect_tensor("layer_norm scale", tensors.scale, DType::F32, {spec_.C});
  if (!tensors.d_residual.empty()) {
    expect_tensor("layer_norm d_residual", tensors.d_residual, spec_.dtype, rows);
  }
  expect_tensor("layer_norm dx", tensors.dx, spec_.dtype, rows);
  expect_gradient_target("layer_norm d_scale", tensors.d_scale, {spec_.C});
  expect_gradient_target("layer_norm d_bias", tensors.d_bias, {spec_.C});
  expect_memory("layer_norm saved", tensors.saved, saved_bytes());
  expect_memory("layer_norm workspace", tensors.workspace, workspace_bytes());
  TANDEM_CUDA(launch_layer_norm_backward(shape_,
                                         {.dy = tensors.dy.raw(),
                                          .x = tensors.x.raw(),
                                          .d_residual = tensors.d_residual.raw(),
                                          .scale = tensors.scale.data<float>(),
                                          .saved = static_cast<const float*>(tensors.saved.raw()),
                                          .dx = tensors.dx.raw(),
                                          .partial_sums = static_cast<float*>(tensors.workspace.raw()),
                                          .d_scale = as_kernel_argument(tensors.d_scale),
                                          .d_bias = as_kernel_argument(tensors.d_bias)},
                                         as_cuda(stream).raw()));
}

}  // namespace

std::unique_ptr<LayerNorm> make_cuda_layer_norm(CudaContext& context, const LayerNormSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("layer_norm", spec.dtype);
  return std::make_unique<CudaLayerNorm>(context, spec);
}

}  // namespace tandem
