#include "trainer/peak_rate.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

RunConfig config_of(PrecisionConfig::Compute compute) {
  RunConfig config;
  config.precision.compute = compute;
  return config;
}

double tflops(PrecisionConfig::Compute compute, std::string_view device, int ranks = 1) {
  return peak_rate(config_of(compute), device, ranks)->flops_per_s * 1e-12;
}

TEST(PeakRate, OfAKnownGpuDependsOnThePrecision) {
  using Compute = PrecisionConfig::Compute;
  EXPECT_DOUBLE_EQ(tflops(Compute::Bf16, "NVIDIA H200"), 989.4);
  EXPECT_DOUBLE_EQ(tflops(Compute::Fp16, "NVIDIA H100 80GB HBM3"), 989.4);
  EXPECT_DOUBLE_EQ(tflops(Compute::Tf32, "NVIDIA H200"), 494.7);
  EXPECT_DOUBLE_EQ(tflops(Compute::Fp32, "NVIDIA H200"), 66.9);
  EXPECT_DOUBLE_EQ(tflops(Compute::Bf16, "NVIDIA A100-SXM4-80GB"), 312.0);
  EXPECT_DOUBLE_EQ(tflops(Compute::Bf16, "NVIDIA H200 NVL"), 835.5);
  EXPECT_DOUBLE_EQ(tflops(Compute::Bf16, "NVIDIA H100 PCIe"), 756.0);
}

TEST(PeakRate, OfASharedGpuIsARanksPart) {
  EXPECT_DOUBLE_EQ(tflops(PrecisionConfig::Compute::Bf16, "NVIDIA A100-SXM4-40GB", 4), 78.0);
}

TEST(PeakRate, OfTheConfigurationCounts) {
  auto config = config_of(PrecisionConfig::Compute::Bf16);
  config.measure.peak_tflops = 0.5;
  for (const auto* device : {"NVIDIA H200", "AMD EPYC"}) {
    const auto peak = peak_rate(config, device, 1);
    EXPECT_DOUBLE_EQ(peak->flops_per_s, 5e11);
    EXPECT_EQ(peak->source, "measure.peak_tflops");
  }
}

TEST(PeakRate, OfAnUnknownDeviceIsNotGuessed) {
  EXPECT_EQ(peak_rate(RunConfig(), "AMD EPYC", 1), std::nullopt);
  EXPECT_EQ(peak_rate(RunConfig(), "NVIDIA H100", 1), std::nullopt);  // of which form?
}

}  // namespace
}  // namespace tandem
