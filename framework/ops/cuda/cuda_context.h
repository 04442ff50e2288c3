// What the CUDA ops of one backend share: libraries, tuner and plan cache.
#pragma once

#include <memory>
#include <string_view>

#include "core/error.h"
#include "core/tensor_view.h"
#include "ops/cuda/cuda_backend.h"
#include "ops/cuda/plan_cache.h"
#include "ops/cuda/tuner.h"

namespace tandem {

class BlasLibrary;
class DnnLibrary;

// Owned by the backend; outlives the ops. Not thread-safe.
class CudaContext {
 public:
  CudaContext(CudaDevice& device, const CudaBackendOptions& options);
  ~CudaContext();

  CudaDevice& device() { return device_; }
  const CudaBackendOptions& options() const { return options_; }
  PlanCache& plans() { return plans_; }
  Tuner& tuner() { return tuner_; }
  BlasLibrary& blas() { return *blas_; }
  DnnLibrary& dnn() { return *dnn_; }

 private:
  CudaDevice& device_;
  CudaBackendOptions options_;
  PlanCache plans_;
  Tuner tuner_;
  std::unique_ptr<BlasLibrary> blas_;
  std::unique_ptr<DnnLibrary> dnn_;
};

// Throws Error unless `dtype` is fp32, bf16 or fp16. `op` names who asks.
inline void expect_float_dtype(std::string_view op, DType dtype) {
  TANDEM_EXPECT(dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16,
                "{}: expected f32, bf16 or f16, the spec asks for {}", op, name_of(dtype));
}

// A piece of a workspace, and the bytes it takes so that the next piece starts aligned.
inline constexpr ByteCount kWorkspaceAlignment{256};
inline ByteCount workspace_piece(ByteCount bytes) {
  return bytes.rounded_up(kWorkspaceAlignment);
}
inline void* workspace_at(const TensorView& workspace, ByteCount offset) {
  return workspace.empty() ? nullptr : static_cast<char*>(workspace.raw()) + offset.value();
}

}  // namespace tandem
