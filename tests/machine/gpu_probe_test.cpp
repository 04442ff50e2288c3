#include "machine/gpu_probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Host probed() {
  Host host;
  probe_gpus(host, FAKE_NVML);
  return host;
}

TEST(GpuProbe, ReadsDriverAndGpus) {
  const Host host = probed();
  EXPECT_EQ(host.driver, "580.65.06");
  EXPECT_EQ(host.driver_cuda, "13.0");
  EXPECT_EQ(host.no_gpu_reason, "");
  ASSERT_EQ(host.gpus.size(), 2U);
  const Gpu& gpu = host.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.uuid, "GPU-zero");
  EXPECT_EQ(gpu.pci, "0000:19:00.0");
  EXPECT_EQ(gpu.memory_bytes, 80'000'000'000);
  EXPECT_EQ(gpu.pcie, (PcieLink{.generation = 1, .max_generation = 5, .width = 8, .max_width = 16}));
  EXPECT_EQ(gpu.state.sm_clock_mhz, 345);
  EXPECT_EQ(gpu.state.max_memory_clock_mhz, 2619);
  EXPECT_EQ(gpu.state.power_w, 72.5);
  EXPECT_EQ(gpu.state.power_limit_w, 500.0);
  EXPECT_EQ(gpu.state.default_power_limit_w, 700.0);
  EXPECT_EQ(gpu.state.temperature_c, 41);
  EXPECT_EQ(gpu.state.slowdown_temperature_c, 87);
  EXPECT_EQ(gpu.state.memory_used_bytes, 1'000'000'000);
}

TEST(GpuProbe, IdleIsNoReasonToThrottle) {
  EXPECT_THAT(probed().gpus[0].state.throttle_reasons,
              ElementsAre("power cap", "thermal slowdown (hardware)"));
}

TEST(GpuProbe, WhatTheDriverDoesNotTellHasNoValue) {
  const Host host = probed();
  EXPECT_EQ(host.gpus[0].ecc, true);
  EXPECT_EQ(host.gpus[0].uncorrected_ecc_errors, 2);
  EXPECT_EQ(host.gpus[1].ecc, std::nullopt);
  EXPECT_EQ(host.gpus[1].uncorrected_ecc_errors, std::nullopt);
  EXPECT_EQ(host.gpus[0].mig, std::nullopt);  // the function itself is missing
  EXPECT_EQ(host.gpus[0].numa, std::nullopt);
}

TEST(GpuProbe, ReadsNvLinksWithStateAndErrors) {
  const Gpu gpu = probed().gpus[1];
  ASSERT_EQ(gpu.nvlinks.size(), 4U);
  EXPECT_EQ(gpu.nvlinks[1], (NvLink{.index = 1,
                                    .active = false,
                                    .generation = 4,
                                    .remote_kind = "gpu",
                                    .remote_pci = "0000:19:00.0",
                                    .replay_errors = 10,
                                    .recovery_errors = 11,
                                    .crc_errors = 12}));
  EXPECT_EQ(gpu.nvlinks[3].remote_kind, "switch");
}

TEST(GpuProbe, ReadsProcesses) {
  const auto processes = probed().gpus[0].processes;
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(processes[0], (GpuProcess{.pid = 4711, .name = "/usr/bin/python3", .memory_bytes = 500'000'000}));
  EXPECT_EQ(processes[1], (GpuProcess{.pid = 4712}));
}

TEST(GpuProbe, AGpuThatIsLostDoesNotHideTheOthers) {
  EXPECT_THAT(probed().lost_gpus, ElementsAre("GPU 2: GPU is lost"));
}

TEST(GpuProbe, ADeadLinkCountsForNeitherSide) {
  const Host host = probed();
  ASSERT_EQ(host.gpu_pairs.size(), 1U);
  EXPECT_EQ(host.gpu_pairs[0],
            (GpuPair{.from = 0, .to = 1, .path = Path::NvLink, .nvlinks = 1, .pcie_path = Path::Node}));
  EXPECT_EQ(name_of(host.gpu_pairs[0]), "NV1");
}

TEST(GpuProbe, SaysWhyThereIsNoGpu) {
  Host host;
  probe_gpus(host, "libno-such-library.so.1");
  EXPECT_THAT(host.no_gpu_reason, HasSubstr("libno-such-library.so.1"));
  EXPECT_TRUE(host.gpus.empty());
}

// Links as a machine with switches has them, with `active` of each GPU's working.
Host switched(const std::vector<int>& active, const std::string& remote_kind) {
  Host host;
  for (std::size_t i = 0; i < active.size(); ++i) {
    Gpu gpu{.index = static_cast<int>(i), .pci = fmt::format("0000:{:02x}:00.0", i + 1)};
    for (int link = 0; link < 12; ++link)
      gpu.nvlinks.push_back({.index = link, .active = link < active[i], .remote_kind = remote_kind});
    host.gpus.push_back(gpu);
    for (std::size_t from = 0; from < i; ++from)
      host.gpu_pairs.push_back({.from = static_cast<int>(from),
                                .to = static_cast<int>(i),
                                .path = Path::Sys,
                                .pcie_path = Path::Sys});
  }
  join_by_nvlink(host);
  return host;
}

TEST(JoinByNvlink, ThroughSwitchesTheSideWithFewerLinksDecides) {
  const Host host = switched({12, 11, 0}, "switch");
  EXPECT_EQ(name_of(pair_of(host, 0, 1)), "NV11");
  EXPECT_EQ(name_of(pair_of(host, 1, 0)), "NV11");
  EXPECT_EQ(name_of(pair_of(host, 0, 2)), "SYS");
}

TEST(JoinByNvlink, AFarEndWithoutNameCountsAsASwitch) {
  EXPECT_EQ(name_of(pair_of(switched({12, 12}, ""), 0, 1)), "NV12");
}

TEST(JoinByNvlink, LinksToAnotherGpuJoinOnlyThatOne) {
  Host host = switched({2, 2, 2}, "gpu");
  for (auto& link : host.gpus[0].nvlinks) link.remote_pci = host.gpus[1].pci;
  for (auto& link : host.gpus[1].nvlinks) link.remote_pci = host.gpus[0].pci;
  for (auto& link : host.gpus[2].nvlinks) link.remote_pci = "0000:99:00.0";
  join_by_nvlink(host);
  EXPECT_EQ(name_of(pair_of(host, 0, 1)), "NV2");
  EXPECT_EQ(name_of(pair_of(host, 0, 2)), "SYS");
}

}  // namespace
}  // namespace tandem
