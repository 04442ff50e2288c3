#include "ops/cuda/cuda_context.h"

#include "ops/cuda/blas.h"
#include "ops/cuda/dnn.h"

namespace tandem {

CudaContext::CudaContext(CudaDevice& device, const CudaBackendOptions& options)
    : device_(device),
      options_(options),
      plans_(options.plan_cache_path, fmt::format("{}, cuDNN {}, cuBLASLt {}", device.name(),
                                                  DnnLibrary::version(), BlasLibrary::version())),
      tuner_(device),
      blas_(std::make_unique<BlasLibrary>()),
      dnn_(std::make_unique<DnnLibrary>()) {}

CudaContext::~CudaContext() = default;

}  // namespace tandem
