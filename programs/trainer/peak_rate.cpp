#include "trainer/peak_rate.h"

#include <array>

namespace tandem {
namespace {

// Tensor cores without sparsity; NVIDIA's data sheets print TF32, BF16 and FP16 of Hopper with it, which is
// twice as much. fp32 is that of the ordinary cores.
struct KnownGpu {
  std::string_view name;  // part of what the driver calls it
  const char* source;
  double fp32_tflops;
  double tf32_tflops;
  double half_tflops;  // bf16 and fp16
};

constexpr std::array<KnownGpu, 5> kKnownGpus = {{
    {"H200 NVL", "NVIDIA H200 data sheet, NVL, dense", 60.0, 417.5, 835.5},
    {"H200", "NVIDIA H200 data sheet, SXM, dense", 66.9, 494.7, 989.4},
    {"H100 80GB HBM3", "NVIDIA H100 data sheet, SXM, dense", 66.9, 494.7, 989.4},
    {"H100 PCIe", "NVIDIA H100 data sheet, PCIe, dense", 51.2, 378.0, 756.0},
    {"A100", "NVIDIA A100 data sheet, dense", 19.5, 156.0, 312.0},
}};

double tflops_of(const KnownGpu& gpu, PrecisionConfig::Compute compute) {
  switch (compute) {
    case PrecisionConfig::Compute::Fp32:
      return gpu.fp32_tflops;
    case PrecisionConfig::Compute::Tf32:
      return gpu.tf32_tflops;
    case PrecisionConfig::Compute::Bf16:
    case PrecisionConfig::Compute::Fp16:
      return gpu.half_tflops;
  }
  return gpu.fp32_tflops;
}

}  // namespace

std::optional<PeakRecord> peak_rate(const RunConfig& config, std::string_view device, int ranks_on_device) {
  constexpr double kTera = 1e12;
  if (config.measure.peak_tflops > 0)
    return PeakRecord{.flops_per_s = config.measure.peak_tflops * kTera, .source = "measure.peak_tflops"};
  for (const auto& gpu : kKnownGpus) {
    if (device.find(gpu.name) == std::string_view::npos) continue;
    return PeakRecord{.flops_per_s = tflops_of(gpu, config.precision.compute) * kTera / ranks_on_device,
                      .source = gpu.source};
  }
  return std::nullopt;
}

}  // namespace tandem
