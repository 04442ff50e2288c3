#include "device/cpu/cpu_stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.h"
#include "device/cpu/cpu_device.h"

namespace tandem {
namespace {

using namespace std::chrono_literals;

class CpuStreamTest : public ::testing::Test {
 protected:
  CpuDevice device_;
  CpuStream stream_;
  CpuStream other_;
};

TEST_F(CpuStreamTest, RunsWorkInOrder) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) stream_.enqueue([&order, i] { order.push_back(i); });
  stream_.synchronize();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(CpuStreamTest, WaitOrdersTwoStreams) {
  const auto event = device_.make_event(EventUse::Ordering);
  int value = 0;
  int seen = -1;
  stream_.enqueue([&] {
    std::this_thread::sleep_for(20ms);
    value = 42;
  });
  stream_.record(*event);
  other_.wait(*event);
  other_.enqueue([&] { seen = value; });
  other_.synchronize();
  EXPECT_EQ(seen, 42);
}

TEST_F(CpuStreamTest, AnEventNeverRecordedHoldsNobody) {
  const auto event = device_.make_event(EventUse::Ordering);
  EXPECT_TRUE(event->complete());
  stream_.wait(*event);
  stream_.synchronize();
}

TEST_F(CpuStreamTest, AWaitKeepsThePointItSaw) {
  const auto event = device_.make_event(EventUse::Ordering);
  stream_.record(*event);
  other_.wait(*event);
  const auto gate = device_.make_event(EventUse::Ordering);
  stream_.enqueue([&] { other_.synchronize(); });  // would deadlock if `other_` waited for the second record
  stream_.record(*event);
  stream_.synchronize();
  EXPECT_TRUE(event->complete());
}

TEST_F(CpuStreamTest, TimingEventsMeasureTheWorkBetweenThem) {
  const auto begin = device_.make_event(EventUse::Timing);
  const auto end = device_.make_event(EventUse::Timing);
  stream_.record(*begin);
  stream_.enqueue([] { std::this_thread::sleep_for(10ms); });
  stream_.record(*end);
  end->synchronize();
  EXPECT_GE(device_.elapsed_ms(*begin, *end), 10.0);
}

TEST_F(CpuStreamTest, FailureDropsLaterWorkWakesWaitersAndIsRethrown) {
  const auto event = device_.make_event(EventUse::Ordering);
  bool ran = false;
  stream_.enqueue([] { throw std::runtime_error("boom"); });
  stream_.enqueue([&] { ran = true; });
  stream_.record(*event);
  other_.wait(*event);
  EXPECT_NO_THROW(other_.synchronize());
  EXPECT_THROW(event->synchronize(), std::runtime_error);
  EXPECT_THROW(stream_.synchronize(), std::runtime_error);
  EXPECT_THROW(stream_.throw_if_failed(), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST_F(CpuStreamTest, CopiesAndZeroes) {
  std::vector<int> from{1, 2, 3};
  std::vector<int> to(3, 9);
  stream_.copy(to.data(), from.data(), ByteCount(12));
  stream_.synchronize();
  EXPECT_EQ(to, from);
  stream_.zero(to.data(), ByteCount(8));
  stream_.synchronize();
  EXPECT_EQ(to, (std::vector<int>{0, 0, 3}));
}

TEST_F(CpuStreamTest, DestructionRunsWhatIsEnqueued) {
  int count = 0;
  {
    CpuStream brief;
    for (int i = 0; i < 10; ++i) brief.enqueue([&] { ++count; });
  }
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace tandem
