// The ops of one GPU: cuDNN graphs, cuBLASLt, own kernels.
#pragma once

#include <filesystem>
#include <memory>

#include "device/cuda/cuda_device.h"
#include "ops/backend.h"

namespace tandem {

struct CudaBackendOptions {
  // Where found plans are kept; empty: searched again in every run. With several ranks, one makes its ops
  // first and the others read what it wrote, so that all use the same plans.
  std::filesystem::path plan_cache_path;
  bool autotune = true;        // else the libraries' first suggestion
  bool deterministic = false;  // the same bits in every run (with the same plans); slower
  bool tf32 = true;            // fp32 products on tensor cores with 10 bits of mantissa; else strict fp32
  // What weight gradients are mostly asked for: the reduce dtype, or F32 where micro-batches accumulate.
  // Others work too, by a pass more.
  DType weight_gradient = DType::F32;
};

// `device` outlives the backend. Used by one thread at a time.
std::unique_ptr<OpBackend> make_cuda_backend(CudaDevice& device, const CudaBackendOptions& options);

}  // namespace tandem
