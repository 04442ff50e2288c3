#include "ops/cuda/norm_operands.h"

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_context.h"

namespace tandem {

void expect_norm_parameters(const BatchNormSpec& spec, const BatchNormParameters& parameters) {
  expect_tensor("batch_norm scale", parameters.scale, DType::F32, {spec.C});
  expect_tensor("batch_norm bias", parameters.bias, DType::F32, {spec.C});
  if (spec.statistics == NormStatistics::Identity) return;
  expect_tensor("batch_norm running_mean", parameters.running_mean, DType::F32, {spec.C});
  expect_tensor("batch_norm running_variance", parameters.running_variance, DType::F32, {spec.C});
}

NormAffine norm_affine(const BatchNormSpec& spec, const BatchNormParameters& parameters,
                       const float* statistics) {
  NormAffine affine{.mean = statistics,
                    .spread = statistics == nullptr ? nullptr : statistics + spec.C,
                    .is_variance = statistics == nullptr,
                    .epsilon = spec.epsilon,
                    .scale = parameters.scale.data<float>(),
                    .bias = parameters.bias.data<float>()};
  if (statistics == nullptr && spec.statistics != NormStatistics::Identity) {
    affine.mean = parameters.running_mean.data<float>();
    affine.spread = parameters.running_variance.data<float>();
  }
  return affine;
}

void measure_norm(Stream& stream, const BatchNormSpec& spec, const NormShape& shape,
                  const BatchNormParameters& parameters, const NormMeasurement& measurement) {
  TANDEM_CUDA(launch_norm_statistics(shape,
                                     {.x = measurement.x.raw(),
                                      .partial_sums = measurement.partial_sums,
                                      .epsilon = spec.epsilon,
                                      .momentum = spec.momentum,
                                      .mean = measurement.statistics,
                                      .inverse_deviation = measurement.statistics + spec.C,
                                      .running_mean = parameters.running_mean.data<float>(),
                                      .running_variance = parameters.running_variance.data<float>()},
                                     as_cuda(stream).raw()));
}

}  // namespace tandem
