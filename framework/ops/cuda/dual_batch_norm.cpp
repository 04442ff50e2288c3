// Two batch normalisations, their sum and ReLU by own kernels: a pass for each branch's statistics and one
// over both; two passes over both backward.
#include <algorithm>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/dual_batch_norm_kernels.h"
#include "ops/cuda/gradient_target.h"
#include "ops/cuda/norm_operands.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CudaDualBatchNorm final : public DualBatchNorm {
 public:
  CudaDualBatchNorm(CudaContext& context, const BatchNormSpec& spec)
      : spec_(spec), shape_{spec.rows, spec.C, spec.dtype, context.device().multiprocessors()} {}

  // Each branch's statistics, then the mask.
  ByteCount saved_bytes() const override {
    return norm_statistics_bytes(spec_) * kBranches + ByteCount(norm_mask_bytes(shape_));
  }
  ByteCount workspace_bytes() const override { return factors_at() + factors_bytes() * kBranches; }

  void forward_train(Stream& stream, const Branches& branches, TensorView y, TensorView saved,
                     TensorView workspace) override;
  void forward_evaluate(Stream& stream, const Branches& branches, TensorView y,
                        TensorView workspace) override;
  void backward(Stream& stream, const Branches& branches, const Backward& tensors) override;

 private:
  static constexpr std::int64_t kFloat = sizeof(float);

  // The workspace: partial sums, then each branch's factors of the input gradient.
  ByteCount factors_at() const {
    return workspace_piece(
        ByteCount(std::max(norm_partial_floats(shape_), dual_norm_partial_floats(shape_)) * kFloat));
  }
  ByteCount factors_bytes() const { return ByteCount(2 * spec_.C * kFloat); }

  float* statistics_in(const TensorView& saved, int branch) const {
    if (spec_.statistics != NormStatistics::Batch) return nullptr;
    return static_cast<float*>(saved.raw()) + branch * 2 * spec_.C;
  }
  std::uint8_t* mask_in(const TensorView& saved) const {
    return static_cast<std::uint8_t*>(saved.raw()) + (norm_statistics_bytes(spec_) * kBranches).value();
  }
  void expect_branches(const Branches& branches) const;
  void apply(Stream& stream, const Branches& branches, TensorView y, const TensorView* saved) const;

  BatchNormSpec spec_;
  NormShape shape_;
};

void CudaDualBatchNorm::expect_branches(const Branches& branches) const {
  for (const auto& branch : branches) {
    expect_tensor("dual_batch_norm x", branch.x, spec_.dtype, {spec_.rows, spec_.C});
    expect_norm_parameters(spec_, branch.parameters);
  }
}

// With the running statistics where nothing was saved.
void CudaDualBatchNorm::apply(Stream& stream, const Branches& branches, TensorView y,
                              const TensorView* saved) const {
  DualNormApplyPass pass{.y = y.raw(), .mask = saved == nullptr ? nullptr : mask_in(*saved)};
  for (int i = 0; i < kBranches; ++i) {
    pass.x[i] = branches[i].x.raw();
    pass.affine[i] =
        norm_affine(spec_, branches[i].parameters, saved == nullptr ? nullptr : statistics_in(*saved, i));
  }
  TANDEM_CUDA(launch_dual_norm_apply(shape_, pass, as_cuda(stream).raw()));
}

void CudaDualBatchNorm::forward_train(Stream& stream, const Branches& branches, TensorView y,
                                      TensorView saved, TensorView workspace) {
  expect_branches(branches);
  expect_tensor("dual_batch_norm y", y, spec_.dtype, {spec_.rows, spec_.C});
  expect_memory("dual_batch_norm saved", saved, saved_bytes());
  expect_memory("dual_batch_norm workspace", workspace, workspace_bytes());
  if (spec_.statistics == NormStatistics::Batch) {
    for (int i = 0; i < kBranches; ++i) {
      measure_norm(stream, spec_, shape_, branches[i].parameters,
                   {.x = branches[i].x,
                    .partial_sums = static_cast<float*>(workspace.raw()),
                    .statistics = statistics_in(saved, i)});
    }
  }
  apply(stream, branches, y, &saved);
}

void CudaDualBatchNorm::forward_evaluate(Stream& stream, const Branches& branches, TensorView y, TensorView) {
  expect_branches(branches);
  expect_tensor("dual_batch_norm y", y, spec_.dtype, {spec_.rows, spec_.C});
  apply(stream, branches, y, nullptr);
}

void CudaDualBatchNorm::backward(Stream& stream, const Branches& branches, const Backward& tensors) {
  const Shape shape{spec_.rows, spec_.C};
  expect_branches(branches);
  expect_tensor("dual_batch_norm dy.first", tensors.dy.first, spec_.dtype, shape);
  if (!tensors.dy.second.empty()) {
    expect_tensor("dual_batch_norm dy.second", tensors.dy.second, spec_.dtype, shape);
  }
  expect_memory("dual_batch_norm saved", tensors.saved, saved_bytes());
  expect_memory("dual_batch_norm workspace", tensors.workspace, workspace_bytes());
  DualNormReducePass reduce{.dy = tensors.dy.first.raw(),
                            .dy_second = tensors.dy.second.raw(),
                            .mask = mask_in(tensors.saved),
                            .batch_statistics = spec_.statistics == NormStatistics::Batch,
                            .partial_sums = static_cast<float*>(tensors.workspace.raw())};
  DualNormInputGradientPass gradients{.dy = reduce.dy, .dy_second = reduce.dy_second, .mask = reduce.mask};
  for (int i = 0; i < kBranches; ++i) {
    const auto& of_branch = tensors.branches[i];
    expect_tensor("dual_batch_norm dx", of_branch.dx, spec_.dtype, shape);
    expect_gradient_target("dual_batch_norm d_scale", of_branch.d_scale, {spec_.C});
    expect_gradient_target("dual_batch_norm d_bias", of_branch.d_bias, {spec_.C});
    auto* factors = static_cast<float*>(workspace_at(tensors.workspace, factors_at() + factors_bytes() * i));
    reduce.x[i] = gradients.x[i] = branches[i].x.raw();
    reduce.affine[i] = gradients.affine[i] =
        norm_affine(spec_, branches[i].parameters, statistics_in(tensors.saved, i));
    reduce.factors[i] = factors;
    gradients.factors[i] = factors;
    reduce.d_scale[i] = as_kernel_argument(of_branch.d_scale);
    reduce.d_bias[i] = as_kernel_argument(of_branch.d_bias);
    gradients.dx[i] = of_branch.dx.raw();
  }
  const auto raw = as_cuda(stream).raw();
  TANDEM_CUDA(launch_dual_norm_reduce(shape_, reduce, raw));
  TANDEM_CUDA(launch_dual_norm_input_gradient(shape_, gradients, raw));
}

}  // namespace

std::unique_ptr<DualBatchNorm> make_cuda_dual_batch_norm(CudaContext& context, const BatchNormSpec& spec) {
  expect_valid_dual(spec);
  expect_float_dtype("dual_batch_norm", spec.dtype);
  return std::make_unique<CudaDualBatchNorm>(context, spec);
}

}  // namespace tandem
