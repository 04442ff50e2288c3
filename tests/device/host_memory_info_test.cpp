#include "device/cpu/host_memory_info.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "device/cpu/cpu_device.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

class HostMemoryInfo : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / ("host_memory_" + std::string(test->name()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  DeviceMemory found() const { return host_memory_info(folder_, folder_); }

  fs::path folder_;
};

constexpr const char* kMeminfo =
    "MemTotal:        1000 kB\nMemFree:           17 kB\nMemAvailable:     400 kB\n";

TEST_F(HostMemoryInfo, IsWhatTheKernelEstimates) {
  put("meminfo", kMeminfo);
  EXPECT_EQ(found().free, ByteCount(400 * 1024));
  EXPECT_EQ(found().total, ByteCount(1000 * 1024));
}

TEST_F(HostMemoryInfo, IsWhatTheContainersLimitLeaves) {
  put("meminfo", kMeminfo);
  put("memory.max", "307200\n");
  put("memory.current", "102400\n");
  EXPECT_EQ(found().free, ByteCount(200 * 1024));
  EXPECT_EQ(found().total, ByteCount(300 * 1024));
}

TEST_F(HostMemoryInfo, IsNothingWhereTheContainerIsOverItsLimit) {
  put("meminfo", kMeminfo);
  put("memory.max", "100\n");
  put("memory.current", "200\n");
  EXPECT_EQ(found().free, ByteCount(0));
}

TEST_F(HostMemoryInfo, IsNotLimitedByAContainerWithoutLimit) {
  put("meminfo", kMeminfo);
  put("memory.max", "max\n");
  put("memory.current", "102400\n");
  EXPECT_EQ(found().free, ByteCount(400 * 1024));
}

TEST_F(HostMemoryInfo, LimitsNothingWhereNothingCanBeRead) {
  EXPECT_GT(found().free, ByteCount(std::int64_t{1} << 60));
}

TEST(MeminfoValue, IsThatOfTheWholeKey) {
  EXPECT_EQ(meminfo_value("Mem: 1 kB\nMemAvailableX: 2 kB\nMemAvailable: 3 kB", "MemAvailable"),
            ByteCount(3 * 1024));
  EXPECT_EQ(meminfo_value("MemAvailable: none\n", "MemAvailable"), std::nullopt);
  EXPECT_EQ(meminfo_value("", "MemAvailable"), std::nullopt);
}

TEST(CpuDeviceMemory, IsSomeAndNotMoreThanThereIs) {
  const auto memory = CpuDevice().memory_info();
  EXPECT_GT(memory.free, ByteCount(0));
  EXPECT_LE(memory.free, memory.total);
}

}  // namespace
}  // namespace tandem
