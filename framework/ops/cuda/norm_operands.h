// What the ops that normalise over batches share: from views of parameters to arguments of kernels.
#pragma once

#include "device/stream.h"
#include "ops/batch_norm.h"
#include "ops/cuda/batch_norm_kernels.h"

namespace tandem {

// Throws Error unless all that the spec's statistics need is there, fp32 [C].
void expect_norm_parameters(const BatchNormSpec& spec, const BatchNormParameters& parameters);

// A batch's statistics as forward keeps them: mean [C], then 1/deviation [C]. None where they are constant.
inline ByteCount norm_statistics_bytes(const BatchNormSpec& spec) {
  const bool of_batch = spec.statistics == NormStatistics::Batch;
  return ByteCount(of_batch ? 2 * spec.C * static_cast<std::int64_t>(sizeof(float)) : 0);
}

// What normalises: the batch's statistics, or the constant ones where `statistics` is null.
NormAffine norm_affine(const BatchNormSpec& spec, const BatchNormParameters& parameters,
                       const float* statistics);

// Enqueues the pass over x that leaves the batch's statistics, and lets the running ones follow.
struct NormMeasurement {
  TensorView x;
  float* partial_sums;  // norm_partial_floats() of `shape`
  float* statistics;
};
void measure_norm(Stream& stream, const BatchNormSpec& spec, const NormShape& shape,
                  const BatchNormParameters& parameters, const NormMeasurement& measurement);

}  // namespace tandem
