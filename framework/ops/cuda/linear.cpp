// Linear layers as cuBLASLt products.
//
// In the library's column-major view: y [out, rows] = w^T x, dx [in, rows] = w dy, dw [in, out] = x dy^T.
// Bias and GELU ride in the epilogue where the library has it on these extents; else own kernels follow the
// product. The bias gradient is a pass of its own: the library's epilogues for it cost several times that
// pass.
#include <algorithm>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/gradient_target.h"
#include "ops/cuda/linear_kernels.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaLinear final : public Linear {
 public:
  CudaLinear(CudaContext& context, const LinearSpec& spec);

  ByteCount workspace_bytes() const override { return workspace_; }
  void forward(Stream& stream, const Forward& tensors) override;
  void backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                       TensorView workspace) override;
  void backward_bias(Stream& stream, TensorView dy, GradTarget dbias, TensorView workspace) override;
  void backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx, TensorView z_of_input,
                      TensorView workspace) override;

 private:
  void make_forward(CudaContext& context, MatmulSpec product);
  void make_backward(CudaContext& context);
  void plan_workspace();
  void check_forward(const Forward& tensors) const;
  const void* bias_in_dtype(Stream& stream, const Forward& tensors) const;
  bool has_bias() const { return spec_.tail != LinearTail::None; }
  bool has_gelu() const { return spec_.tail == LinearTail::BiasGelu; }
  Shape input_shape() const { return {spec_.rows, spec_.in}; }
  Shape weight_shape() const { return {spec_.out, spec_.in}; }
  Shape output_shape() const { return {spec_.rows, spec_.out}; }

  LinearSpec spec_;
  std::unique_ptr<Matmul> forward_, weight_, input_;
  bool bias_fused_ = false;
  bool gelu_fused_ = false;
  bool gelu_backward_fused_ = false;
  DType produced_;               // what the product of the weight gradient writes
  ByteCount bias_at_;            // in the workspace of forward: the bias in the compute dtype
  ByteCount weight_scratch_at_;  // in the workspace of backward_weight
  ByteCount workspace_;
};

CudaLinear::CudaLinear(CudaContext& context, const LinearSpec& spec) : spec_(spec) {
  // A dtype that the product cannot write goes through fp32.
  produced_ = context.options().weight_gradient == spec.dtype ? spec.dtype : DType::F32;
  make_forward(context, {.m = spec.out,
                         .n = spec.rows,
                         .k = spec.in,
                         .transpose_a = true,
                         .in = spec.dtype,
                         .out = spec.dtype});
  make_backward(context);
  plan_workspace();
}

void CudaLinear::make_forward(CudaContext& context, MatmulSpec product) {
  if (has_gelu()) {
    product.epilogue = MatmulEpilogue::GeluAuxBias;
    forward_ = context.blas().try_make(context, product);
    gelu_fused_ = bias_fused_ = forward_ != nullptr;
  }
  if (!forward_ && has_bias()) {
    product.epilogue = MatmulEpilogue::Bias;
    forward_ = context.blas().try_make(context, product);
    bias_fused_ = forward_ != nullptr;
  }
  if (!forward_) {
    product.epilogue = MatmulEpilogue::None;
    forward_ = context.blas().make(context, product);
  }
}

void CudaLinear::make_backward(CudaContext& context) {
  weight_ = context.blas().make(context, {.m = spec_.in,
                                          .n = spec_.out,
                                          .k = spec_.rows,
                                          .transpose_b = true,
                                          .in = spec_.dtype,
                                          .out = produced_});
  MatmulSpec product{.m = spec_.in, .n = spec_.rows, .k = spec_.out, .in = spec_.dtype, .out = spec_.dtype};
  if (spec_.input_is_gelu) {
    product.epilogue = MatmulEpilogue::DGelu;
    input_ = context.blas().try_make(context, product);
    gelu_backward_fused_ = input_ != nullptr;
  }
  if (!input_) {
    product.epilogue = MatmulEpilogue::None;
    input_ = context.blas().make(context, product);
  }
}

void CudaLinear::plan_workspace() {
  bias_at_ = workspace_piece(forward_->workspace_bytes());
  weight_scratch_at_ = workspace_piece(weight_->workspace_bytes());
  const auto forward = bias_at_ + bytes_of(ElementCount(has_bias() ? spec_.out : 0), spec_.dtype);
  const auto weight = weight_scratch_at_ + bytes_of(weight_shape().elements(), produced_);
  const auto bias = bytes_of(ElementCount(column_sum_floats(spec_.rows, spec_.out)), DType::F32);
  workspace_ = std::max({forward, weight, bias, input_->workspace_bytes()});
}

void CudaLinear::check_forward(const Forward& tensors) const {
  expect_tensor("linear x", tensors.x, spec_.dtype, input_shape());
  expect_tensor("linear w", tensors.w, spec_.dtype, weight_shape());
  expect_tensor("linear y", tensors.y, spec_.dtype, output_shape());
  if (has_bias()) {
    // A bias is an fp32 parameter; one in the compute dtype does as well.
    const auto dtype = tensors.bias.dtype() == spec_.dtype ? spec_.dtype : DType::F32;
    expect_tensor("linear bias", tensors.bias, dtype, {spec_.out});
  } else {
    expect_no_tensor("linear bias", tensors.bias);
  }
  if (has_gelu()) {
    expect_tensor("linear z", tensors.z, spec_.dtype, output_shape());
  } else {
    expect_no_tensor("linear z", tensors.z);
  }
  expect_memory("linear workspace", tensors.workspace, workspace_);
}

// Epilogues take a bias of the output's dtype only.
const void* CudaLinear::bias_in_dtype(Stream& stream, const Forward& tensors) const {
  if (!has_bias() || tensors.bias.dtype() == spec_.dtype) return tensors.bias.raw();
  void* cast = workspace_at(tensors.workspace, bias_at_);
  TANDEM_CUDA(launch_store_gradient({tensors.bias.raw(), tensors.bias.dtype()}, {cast, spec_.dtype, false},
                                    spec_.out, as_cuda(stream).raw()));
  return cast;
}

void CudaLinear::forward(Stream& stream, const Forward& tensors) {
  check_forward(tensors);
  const void* bias = bias_in_dtype(stream, tensors);
  const bool gelu_follows = has_gelu() && !gelu_fused_;
  const auto& product = gelu_follows ? tensors.z : tensors.y;
  forward_->run(stream, {.a = tensors.w.raw(),
                         .b = tensors.x.raw(),
                         .d = product.raw(),
                         .bias = bias,
                         .aux = tensors.z.raw(),
                         .workspace = tensors.workspace.raw()});
  const auto raw = as_cuda(stream).raw();
  if (has_bias() && !bias_fused_) {
    TANDEM_CUDA(launch_add_bias({product.raw(), spec_.dtype}, bias, spec_.rows, spec_.out, raw));
  }
  if (gelu_follows) {
    TANDEM_CUDA(
        launch_gelu(tensors.z.raw(), {tensors.y.raw(), spec_.dtype}, tensors.y.elements().value(), raw));
  }
}

void CudaLinear::backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                                 TensorView workspace) {
  expect_tensor("linear x", x, spec_.dtype, input_shape());
  expect_tensor("linear dy", dy, spec_.dtype, output_shape());
  expect_gradient_target("linear dw", dw, weight_shape());
  expect_memory("linear workspace", workspace, workspace_);
  const bool direct = dw.view.dtype() == produced_;
  void* out = direct ? dw.view.raw() : workspace_at(workspace, weight_scratch_at_);
  weight_->run(stream, {.a = x.raw(),
                        .b = dy.raw(),
                        .d = out,
                        .accumulate = direct && dw.mode == GradMode::Accumulate,
                        .workspace = workspace.raw()});
  if (!direct) store_gradient(stream, out, produced_, dw);
}

void CudaLinear::backward_bias(Stream& stream, TensorView dy, GradTarget dbias, TensorView workspace) {
  expect_tensor("linear dy", dy, spec_.dtype, output_shape());
  expect_gradient_target("linear dbias", dbias, {spec_.out});
  expect_memory("linear workspace", workspace, workspace_);
  TANDEM_CUDA(launch_column_sum({.matrix = {dy.raw(), spec_.dtype},
                                 .rows = spec_.rows,
                                 .columns = spec_.out,
                                 .to = as_kernel_argument(dbias),
                                 .partial_sums = static_cast<float*>(workspace.raw())},
                                as_cuda(stream).raw()));
}

void CudaLinear::backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                                TensorView z_of_input, TensorView workspace) {
  expect_tensor("linear dy", dy, spec_.dtype, output_shape());
  expect_tensor("linear w", w, spec_.dtype, weight_shape());
  expect_tensor("linear dx", dx, spec_.dtype, input_shape());
  if (spec_.input_is_gelu) {
    expect_tensor("linear z_of_input", z_of_input, spec_.dtype, input_shape());
  } else {
    expect_no_tensor("linear z_of_input", z_of_input);
  }
  expect_memory("linear workspace", workspace, workspace_);
  input_->run(
      stream,
      {.a = w.raw(), .b = dy.raw(), .d = dx.raw(), .aux = z_of_input.raw(), .workspace = workspace.raw()});
  if (spec_.input_is_gelu && !gelu_backward_fused_) {
    TANDEM_CUDA(launch_gelu_backward(z_of_input.raw(), {dx.raw(), spec_.dtype}, dx.elements().value(),
                                     as_cuda(stream).raw()));
  }
}

}  // namespace

std::unique_ptr<Linear> make_cuda_linear(CudaContext& context, const LinearSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("linear", spec.dtype);
  return std::make_unique<CudaLinear>(context, spec);
}

}  // namespace tandem
