// Convolutions as cuDNN plans.
#include <algorithm>

#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/dnn.h"
#include "ops/cuda/gradient_target.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaConv2d final : public Conv2d {
 public:
  CudaConv2d(CudaContext& context, const Conv2dSpec& spec);

  ByteCount workspace_bytes() const override { return workspace_; }
  void forward(Stream& stream, TensorView x, TensorView w, TensorView y, TensorView workspace) override;
  void backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                       TensorView workspace) override;
  void backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                      TensorView workspace) override;

 private:
  using Plan = std::shared_ptr<const DnnPlan>;

  void plan_weight_gradient(CudaContext& context);
  Shape input_shape() const { return {spec_.N, spec_.H, spec_.W, spec_.C}; }
  Shape weight_shape() const { return {spec_.K, spec_.R, spec_.S, spec_.C}; }
  Shape output_shape() const { return {spec_.N, spec_.P(), spec_.Q(), spec_.K}; }

  Conv2dSpec spec_;
  Plan forward_, weight_, input_;
  DType produced_ = DType::F32;  // what the plan of the weight gradient writes
  ByteCount scratch_at_;         // in the workspace, behind that plan's own
  ByteCount workspace_;
};

CudaConv2d::CudaConv2d(CudaContext& context, const Conv2dSpec& spec) : spec_(spec) {
  forward_ = context.dnn().conv(context, spec, ConvDirection::Forward, spec.dtype);
  plan_weight_gradient(context);
  if (spec.input_gradient) {
    input_ = context.dnn().conv(context, spec_, ConvDirection::BackwardInput, spec_.dtype);
  }
  scratch_at_ = workspace_piece(weight_->workspace_bytes());
  workspace_ =
      std::max(forward_->workspace_bytes(), scratch_at_ + bytes_of(weight_shape().elements(), produced_));
  if (input_) workspace_ = std::max(workspace_, input_->workspace_bytes());
}

// fp32 out of 16-bit operands spares a cast and keeps the sum's digits, but not every engine writes it.
void CudaConv2d::plan_weight_gradient(CudaContext& context) {
  const bool wants_fp32 = context.options().weight_gradient != spec_.dtype;
  produced_ = wants_fp32 ? DType::F32 : spec_.dtype;
  try {
    weight_ = context.dnn().conv(context, spec_, ConvDirection::BackwardWeight, produced_);
  } catch (const Error&) {
    if (produced_ == spec_.dtype) throw;
    produced_ = spec_.dtype;
    weight_ = context.dnn().conv(context, spec_, ConvDirection::BackwardWeight, produced_);
  }
}

void CudaConv2d::forward(Stream& stream, TensorView x, TensorView w, TensorView y, TensorView workspace) {
  expect_tensor("conv2d x", x, spec_.dtype, input_shape());
  expect_tensor("conv2d w", w, spec_.dtype, weight_shape());
  expect_tensor("conv2d y", y, spec_.dtype, output_shape());
  expect_memory("conv2d workspace", workspace, workspace_);
  forward_->run(stream, {{ConvOperand::kX, x.raw()}, {ConvOperand::kW, w.raw()}, {ConvOperand::kY, y.raw()}},
                workspace.raw());
}

void CudaConv2d::backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                                 TensorView workspace) {
  expect_tensor("conv2d x", x, spec_.dtype, input_shape());
  expect_tensor("conv2d dy", dy, spec_.dtype, output_shape());
  expect_gradient_target("conv2d dw", dw, weight_shape());
  expect_memory("conv2d workspace", workspace, workspace_);
  const bool direct = dw.mode == GradMode::Overwrite && dw.view.dtype() == produced_;
  void* out = direct ? dw.view.raw() : workspace_at(workspace, scratch_at_);
  weight_->run(stream, {{ConvOperand::kX, x.raw()}, {ConvOperand::kY, dy.raw()}, {ConvOperand::kW, out}},
               workspace.raw());
  if (!direct) store_gradient(stream, out, produced_, dw);
}

void CudaConv2d::backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                                TensorView workspace) {
  expect_tensor("conv2d dy", dy, spec_.dtype, output_shape());
  expect_tensor("conv2d w", w, spec_.dtype, weight_shape());
  expect_tensor("conv2d dx", dx, spec_.dtype, input_shape());
  expect_memory("conv2d workspace", workspace, workspace_);
  TANDEM_EXPECT(input_ != nullptr, "a convolution without an input gradient was asked for one");
  input_->run(stream, {{ConvOperand::kY, dy.raw()}, {ConvOperand::kW, w.raw()}, {ConvOperand::kX, dx.raw()}},
              workspace.raw());
}

}  // namespace

std::unique_ptr<Conv2d> make_cuda_conv2d(CudaContext& context, const Conv2dSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("conv2d", spec.dtype);
  return std::make_unique<CudaConv2d>(context, spec);
}

}  // namespace tandem
