// Batch normalisation, ReLU and maximum by own kernels: two passes over x forward, two backward.
#include <algorithm>
#include <limits>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/gradient_target.h"
#include "ops/cuda/norm_max_pool_kernels.h"
#include "ops/cuda/norm_operands.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

NormMaxPoolShape shape_of(const NormMaxPoolSpec& spec, int multiprocessors) {
  const auto narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  return {.N = narrow(spec.N),
          .H = narrow(spec.H),
          .W = narrow(spec.W),
          .C = narrow(spec.C),
          .P = narrow(spec.pool().P()),
          .Q = narrow(spec.pool().Q()),
          .dtype = spec.dtype,
          .multiprocessors = multiprocessors};
}

class CudaNormMaxPool final : public NormMaxPool {
 public:
  CudaNormMaxPool(CudaContext& context, const NormMaxPoolSpec& spec)
      : norm_(spec.norm()),
        shape_(shape_of(spec, context.device().multiprocessors())),
        image_{spec.N, spec.H, spec.W, spec.C},
        output_{spec.N, spec.pool().P(), spec.pool().Q(), spec.C} {}

  // The batch's statistics, then the winners.
  ByteCount saved_bytes() const override {
    return winners_at() + ByteCount(norm_max_pool_winner_bytes(shape_));
  }
  ByteCount workspace_bytes() const override { return factors_at() + ByteCount(2 * norm_.C * kFloat); }

  void forward_train(Stream& stream, const BatchNormParameters& parameters, const Forward& tensors) override;
  void forward_evaluate(Stream& stream, const BatchNormParameters& parameters,
                        const Forward& tensors) override;
  void backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) override;

 private:
  static constexpr std::int64_t kFloat = sizeof(float);

  bool of_batch() const { return norm_.statistics == NormStatistics::Batch; }
  ByteCount winners_at() const { return workspace_piece(norm_statistics_bytes(norm_)); }
  float* statistics_in(const TensorView& saved) const {
    return of_batch() ? static_cast<float*>(saved.raw()) : nullptr;
  }
  std::uint8_t* winners_in(const TensorView& saved) const {
    return static_cast<std::uint8_t*>(saved.raw()) + winners_at().value();
  }
  // The workspace: partial sums, then the factors of the input gradient.
  ByteCount factors_at() const {
    return workspace_piece(ByteCount(
        std::max(norm_partial_floats(shape_.matrix()), norm_max_pool_partial_floats(shape_)) * kFloat));
  }
  void expect_forward(const BatchNormParameters& parameters, const Forward& tensors) const;

  BatchNormSpec norm_;
  NormMaxPoolShape shape_;
  Shape image_, output_;
};

void CudaNormMaxPool::expect_forward(const BatchNormParameters& parameters, const Forward& tensors) const {
  expect_norm_parameters(norm_, parameters);
  expect_tensor("norm_max_pool x", tensors.x, norm_.dtype, image_);
  expect_tensor("norm_max_pool y", tensors.y, norm_.dtype, output_);
}

void CudaNormMaxPool::forward_train(Stream& stream, const BatchNormParameters& parameters,
                                    const Forward& tensors) {
  expect_forward(parameters, tensors);
  expect_memory("norm_max_pool saved", tensors.saved, saved_bytes());
  expect_memory("norm_max_pool workspace", tensors.workspace, workspace_bytes());
  if (of_batch()) {
    measure_norm(stream, norm_, shape_.matrix(), parameters,
                 {.x = tensors.x,
                  .partial_sums = static_cast<float*>(tensors.workspace.raw()),
                  .statistics = statistics_in(tensors.saved)});
  }
  TANDEM_CUDA(
      launch_norm_max_pool_apply(shape_,
                                 {.x = tensors.x.raw(),
                                  .affine = norm_affine(norm_, parameters, statistics_in(tensors.saved)),
                                  .y = tensors.y.raw(),
                                  .winners = winners_in(tensors.saved)},
                                 as_cuda(stream).raw()));
}

void CudaNormMaxPool::forward_evaluate(Stream& stream, const BatchNormParameters& parameters,
                                       const Forward& tensors) {
  expect_forward(parameters, tensors);
  TANDEM_CUDA(launch_norm_max_pool_apply(shape_,
                                         {.x = tensors.x.raw(),
                                          .affine = norm_affine(norm_, parameters, nullptr),
                                          .y = tensors.y.raw(),
                                          .winners = nullptr},
                                         as_cuda(stream).raw()));
}

void CudaNormMaxPool::backward(Stream& stream, const BatchNormParameters& parameters,
                               const Backward& tensors) {
  expect_norm_parameters(norm_, parameters);
  expect_tensor("norm_max_pool dy.first", tensors.dy.first, norm_.dtype, output_);
  if (!tensors.dy.second.empty()) {
    expect_tensor("norm_max_pool dy.second", tensors.dy.second, norm_.dtype, output_);
  }
  expect_tensor("norm_max_pool x", tensors.x, norm_.dtype, image_);
  expect_tensor("norm_max_pool dx", tensors.dx, norm_.dtype, image_);
  expect_memory("norm_max_pool saved", tensors.saved, saved_bytes());
  expect_memory("norm_max_pool workspace", tensors.workspace, workspace_bytes());
  expect_gradient_target("norm_max_pool d_scale", tensors.d_scale, {norm_.C});
  expect_gradient_target("norm_max_pool d_bias", tensors.d_bias, {norm_.C});
  const auto raw = as_cuda(stream).raw();
  const auto affine = norm_affine(norm_, parameters, statistics_in(tensors.saved));
  auto* factors = static_cast<float*>(workspace_at(tensors.workspace, factors_at()));
  TANDEM_CUDA(launch_norm_max_pool_reduce(shape_,
                                          {.dy = tensors.dy.first.raw(),
                                           .dy_second = tensors.dy.second.raw(),
                                           .winners = winners_in(tensors.saved),
                                           .x = tensors.x.raw(),
                                           .affine = affine,
                                           .batch_statistics = of_batch(),
                                           .partial_sums = static_cast<float*>(tensors.workspace.raw()),
                                           .factors = factors,
                                           .d_scale = as_kernel_argument(tensors.d_scale),
                                           .d_bias = as_kernel_argument(tensors.d_bias)},
                                          raw));
  TANDEM_CUDA(launch_norm_max_pool_input_gradient(shape_,
                                                  {.dy = tensors.dy.first.raw(),
                                                   .dy_second = tensors.dy.second.raw(),
                                                   .winners = winners_in(tensors.saved),
                                                   .x = tensors.x.raw(),
                                                   .affine = affine,
                                                   .factors = factors,
                                                   .dx = tensors.dx.raw()},
                                                  raw));
}

}  // namespace

std::unique_ptr<NormMaxPool> make_cuda_norm_max_pool(CudaContext& context, const NormMaxPoolSpec& spec) {
  expect_valid(spec.norm());
  expect_valid(spec.pool());
  expect_float_dtype("norm_max_pool", spec.dtype);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  TANDEM_EXPECT(spec.N * spec.H * spec.W * spec.C <= most,
                "norm_max_pool: expected at most {} elements, found N={} H={} W={} C={}", most, spec.N,
                spec.H, spec.W, spec.C);
  return std::make_unique<CudaNormMaxPool>(context, spec);
}

}  // namespace tandem
