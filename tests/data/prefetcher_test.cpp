#include "data/prefetcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "batch_memory.h"
#include "core/error.h"

namespace tandem {
namespace {

using testing::BatchMemory;

// Writes the step into every target. Can be made to fail at a step, or to wait at one until it is opened.
class StepSource final : public BatchSource {
 public:
  std::int64_t fail_at = -1;
  std::int64_t wait_at = -1;
  std::promise<void> open;

  BatchFormat format() const override { return {DType::I32, {2, 3}, {2, 3}}; }
  std::int64_t fill(std::int64_t step, const BatchView& out) const override {
    if (step == fail_at)
      throw InputError({"bad sample", "a file", "good ones", "a bad one", "fetch it again"});
    if (step == wait_at) opened_.wait();
    for (int i = 0; i < 6; ++i) out.targets.data<std::int32_t>()[i] = static_cast<std::int32_t>(step);
    filled = step + 1;
    return 100 + step;
  }

  mutable std::atomic<std::int64_t> filled = 0;

 private:
  std::shared_future<void> opened_ = open.get_future().share();
};

class PrefetcherTest : public ::testing::Test {
 protected:
  std::vector<BatchView> slots(std::size_t count) {
    memories_.assign(count, BatchMemory(source_.format()));
    std::vector<BatchView> views;
    for (BatchMemory& memory : memories_) views.push_back(memory.view());
    return views;
  }

  StepSource source_;
  std::vector<BatchMemory> memories_;
};

TEST_F(PrefetcherTest, DeliversEveryStepInOrderInItsSlot) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{7}}) {
    Prefetcher prefetcher(source_, slots(count), {.first = 5, .end = 200});
    for (std::int64_t step = 5; step < 200; ++step) {
      const PrefetchedBatch batch = prefetcher.acquire();
      ASSERT_EQ(batch.step, step);
      ASSERT_EQ(batch.slot, static_cast<std::size_t>(step) % count);
      ASSERT_EQ(batch.valid_targets, 100 + step);
      ASSERT_GE(batch.data_wait_ms, 0.0);
      for (const std::int32_t target : memories_[batch.slot].targets()) ASSERT_EQ(target, step);
      prefetcher.release(batch.slot);
    }
    EXPECT_THROW(prefetcher.acquire(), Error);
  }
}

TEST_F(PrefetcherTest, DoesNotTouchASlotBeforeItIsReleased) {
  Prefetcher prefetcher(source_, slots(3), {.first = 0, .end = 100});
  for (std::int64_t step = 0; step < 3; ++step) prefetcher.acquire();  // all three are held: steps 0, 1, 2
  EXPECT_EQ(source_.filled, 3);
  for (std::size_t slot = 0; slot < 3; ++slot) EXPECT_EQ(memories_[slot].targets()[0], slot);
  EXPECT_THROW(prefetcher.acquire(), Error);  // would wait for ever
  prefetcher.release(0);
  const PrefetchedBatch batch = prefetcher.acquire();
  EXPECT_EQ(batch.step, 3);
  EXPECT_EQ(memories_[0].targets()[0], 3);
  EXPECT_EQ(memories_[1].targets()[0], 1);
}

// The wait may be cut short when this thread is not run for a while before it calls acquire(); hence several
// tries.
TEST_F(PrefetcherTest, MeasuresHowLongTheDataWereWaitedFor) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  constexpr Milliseconds kDelay(20);
  double longest_ms = 0;
  for (int attempt = 0; attempt < 10 && longest_ms < kDelay.count() / 2; ++attempt) {
    StepSource source;
    source.wait_at = 1;
    Prefetcher prefetcher(source, slots(2), {.first = 0, .end = 2});
    prefetcher.acquire();
    std::thread opener([&] {
      std::this_thread::sleep_for(kDelay);
      source.open.set_value();
    });
    const auto asked = std::chrono::steady_clock::now();
    const double waited_ms = prefetcher.acquire().data_wait_ms;
    const Milliseconds passed = std::chrono::steady_clock::now() - asked;
    opener.join();
    EXPECT_LE(waited_ms, passed.count());
    longest_ms = std::max(longest_ms, waited_ms);
  }
  EXPECT_GE(longest_ms, kDelay.count() / 2);
}

TEST_F(PrefetcherTest, AnErrorComesOutOfTheAcquireOfItsStep) {
  source_.fail_at = 5;
  Prefetcher prefetcher(source_, slots(4), {.first = 0, .end = 100});
  for (std::int64_t step = 0; step < 5; ++step) {
    const PrefetchedBatch batch = prefetcher.acquire();
    EXPECT_EQ(batch.step, step);
    prefetcher.release(batch.slot);
  }
  for (int again = 0; again < 3; ++again) EXPECT_THROW(prefetcher.acquire(), InputError);
}

TEST_F(PrefetcherTest, AnErrorInTheFirstBatchDoesNotHang) {
  source_.fail_at = 0;
  Prefetcher prefetcher(source_, slots(1), {.first = 0, .end = 1});
  EXPECT_THROW(prefetcher.acquire(), InputError);
}

// These fail by not ending.
TEST_F(PrefetcherTest, StopsWhenTheThreadFillsOrWaitsForASlot) {
  for (int round = 0; round < 200; ++round) {
    Prefetcher prefetcher(source_, slots(2), {.first = 0, .end = std::int64_t{1} << 40});
    for (int step = 0; step < round % 3; ++step) prefetcher.acquire();
  }
  const Prefetcher nothing_to_do(source_, slots(2), {.first = 3, .end = 3});
}

TEST_F(PrefetcherTest, StopsAfterTheBatchBeingFilled) {
  source_.wait_at = 0;
  auto prefetcher =
      std::make_unique<Prefetcher>(source_, slots(2), Prefetcher::Steps{.first = 0, .end = 100});
  std::thread opener([&] { source_.open.set_value(); });
  prefetcher.reset();
  opener.join();
  const std::int64_t filled = source_.filled;
  std::this_thread::yield();
  EXPECT_EQ(source_.filled, filled);  // the thread is gone
}

TEST_F(PrefetcherTest, RefusesMisuse) {
  EXPECT_THROW(Prefetcher(source_, {}, {.first = 0, .end = 1}), Error);
  EXPECT_THROW(Prefetcher(source_, slots(1), {.first = 2, .end = 1}), Error);
  BatchMemory other({DType::I32, {2, 4}, {2, 4}});
  EXPECT_THROW(Prefetcher(source_, {other.view()}, {.first = 0, .end = 1}), Error);
  Prefetcher prefetcher(source_, slots(2), {.first = 0, .end = 2});
  EXPECT_THROW(prefetcher.release(0), Error);
  EXPECT_THROW(prefetcher.release(2), Error);
  prefetcher.release(prefetcher.acquire().slot);
  EXPECT_THROW(prefetcher.release(0), Error);
}

}  // namespace
}  // namespace tandem
