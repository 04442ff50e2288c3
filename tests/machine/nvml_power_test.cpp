#include "machine/nvml_power.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr const char* kGpu = "0000:3b:00.0";

// How many users the fake library has that have not ended yet.
int users_of_fake() {
  void* library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  const auto count = reinterpret_cast<int (*)()>(dlsym(library, "tandem_fake_nvml_users"));
  return count();
}

TEST(NvmlPower, ReadsTheBoardInWatts) {
  const auto power = open_nvml_power({.pci_bus_id = kGpu, .library = FAKE_NVML});
  ASSERT_NE(power, nullptr);
  EXPECT_EQ(power->watts(), 72.5);
}

TEST(NvmlPower, CountsTheShareOfRanksThatShareTheBoard) {
  const auto power = open_nvml_power({.pci_bus_id = kGpu, .share = 0.25, .library = FAKE_NVML});
  ASSERT_NE(power, nullptr);
  EXPECT_EQ(power->watts(), 18.125);
}

TEST(NvmlPower, IsNothingWhereThereIsNoLibraryOrNoSuchGpuOrNoSuchFunction) {
  EXPECT_EQ(open_nvml_power({.pci_bus_id = kGpu, .library = "/nowhere/libnvidia-ml.so.1"}), nullptr);
  EXPECT_EQ(open_nvml_power({.pci_bus_id = "0000:00:00.0", .library = FAKE_NVML}), nullptr);
  EXPECT_EQ(open_nvml_power({.pci_bus_id = kGpu, .library = "libc.so.6"}), nullptr);
}

TEST(NvmlPower, EndsWhatItBegan) {
  const int before = users_of_fake();
  {
    const auto power = open_nvml_power({.pci_bus_id = kGpu, .library = FAKE_NVML});
    EXPECT_EQ(users_of_fake(), before + 1);
  }
  open_nvml_power({.pci_bus_id = "0000:00:00.0", .library = FAKE_NVML});
  EXPECT_EQ(users_of_fake(), before);
}

}  // namespace
}  // namespace tandem
