#include "device/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "device/cpu/cpu_device.h"

namespace tandem {
namespace {

TEST(Buffer, IsAlignedAndViewsStayInside) {
  CpuDevice device;
  const Buffer buffer(device.memory(), ByteCount(100));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0u);
  EXPECT_EQ(buffer.view(ByteCount(20), DType::F32, {20}).bytes(), ByteCount(80));
  EXPECT_THROW((void)buffer.view(ByteCount(24), DType::F32, {20}), Error);
  EXPECT_THROW((void)buffer.view(ByteCount(-4), DType::F32, {1}), Error);
}

TEST(Buffer, MovedFromOwnsNothing) {
  CpuDevice device;
  Buffer first(device.memory(), ByteCount(64));
  void* memory = first.data();
  const Buffer second = std::move(first);
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): the moved-from state is the point
}

TEST(Buffer, OfNoBytesOwnsNothing) {
  CpuDevice device;
  EXPECT_EQ(Buffer(device.memory(), ByteCount(0)).data(), nullptr);
}

}  // namespace
}  // namespace tandem
