#include "train/clock_offsets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "support/thread_ranks.h"

namespace tandem {
namespace {

// Ranks that leave a barrier at different times, as they do on a busy machine, and say what host they are on.
class UnevenGroup final : public RankGroup {
 public:
  UnevenGroup(RankGroup& group, bool one_host) : group_(group), one_host_(one_host) {}

  Rank rank() const override { return group_.rank(); }
  int world_size() const override { return group_.world_size(); }
  std::string host() const override { return one_host_ ? "host" : fmt::format("host {}", rank().value); }
  void barrier() override {
    group_.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * rank().value));
  }
  std::vector<std::string> all_gather(const std::string& text) override { return group_.all_gather(text); }
  std::string broadcast(const std::string& text, Rank root) override { return group_.broadcast(text, root); }
  std::vector<double> sum(std::span<const double> values) override { return group_.sum(values); }

 private:
  RankGroup& group_;
  bool one_host_;
};

// What each of three ranks finds.
std::vector<std::vector<ClockOffset>> measure(bool one_host) {
  std::vector<std::vector<ClockOffset>> found(3);
  const auto thrown = ThreadRanks(3).run([&](RankGroup& group) {
    UnevenGroup uneven(group, one_host);
    found[static_cast<std::size_t>(group.rank().value)] = measure_clock_offsets(uneven);
  });
  for (const auto& failure : thrown) EXPECT_FALSE(failure);
  return found;
}

// Threads share one clock, so the truth is 0: it must lie within the bound, whatever delays a rank.
TEST(ClockOffsets, BoundTheTruth) {
  const auto found = measure(false);
  for (const auto& offsets : found) {
    ASSERT_EQ(offsets.size(), 3u);
    EXPECT_EQ(offsets[0].error_ms, 0.0);
    for (const std::size_t rank : {1u, 2u}) {
      EXPECT_LE(std::abs(offsets[rank].ms), offsets[rank].error_ms);
      EXPECT_GE(offsets[rank].error_ms, 1.0 * static_cast<double>(rank));  // half of its sleep
      EXPECT_EQ(offsets[rank].ms, found[0][rank].ms);                      // the same on every rank
    }
  }
}

TEST(ClockOffsets, OfOneHostAreNone) {
  for (const auto& offsets : measure(true)) {
    ASSERT_EQ(offsets.size(), 3u);
    for (const auto& offset : offsets) {
      EXPECT_EQ(offset.ms, 0.0);
      EXPECT_EQ(offset.error_ms, 0.0);
    }
  }
}

}  // namespace
}  // namespace tandem
