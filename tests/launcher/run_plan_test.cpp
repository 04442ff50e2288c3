#include "launcher/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tandem {
namespace {

using ::testing::ElementsAre;

TEST(InterleavedRuns, EveryRoundBeginsWithAnotherLink) {
  EXPECT_THAT(interleaved_runs(3, 2), ElementsAre(PlannedRun{0, 1}, PlannedRun{1, 1}, PlannedRun{2, 1},  //
                                                  PlannedRun{1, 2}, PlannedRun{2, 2}, PlannedRun{0, 2}));
  EXPECT_THAT(interleaved_runs(1, 2), ElementsAre(PlannedRun{0, 1}, PlannedRun{0, 2}));
}

TEST(InterleavedRuns, EveryLinkRunsOnceInEveryRound) {
  for (std::size_t links = 1; links <= 5; ++links) {
    for (int repeats = 1; repeats <= 7; ++repeats) {
      const auto plan = interleaved_runs(links, repeats);
      ASSERT_EQ(plan.size(), links * static_cast<std::size_t>(repeats));
      for (std::size_t i = 0; i < plan.size(); i += links) {
        std::set<std::size_t> seen;
        for (std::size_t turn = 0; turn < links; ++turn) {
          EXPECT_EQ(plan[i + turn].repeat, static_cast<int>(i / links) + 1);
          seen.insert(plan[i + turn].link);
        }
        EXPECT_EQ(seen.size(), links);
        EXPECT_EQ(plan[i].link, i / links % links);
      }
    }
  }
}

TEST(SecondsForRest, UsesTheLinksOwnRunsWhereThereAreAny) {
  const auto plan = interleaved_runs(2, 3);  // 0 1, 1 0, 0 1
  const std::vector<std::optional<double>> seconds = {10.0, 30.0, 32.0, 12.0, 11.0, 31.0};
  const auto left = [&](std::size_t finished) {
    auto so_far = seconds;
    for (std::size_t i = finished; i < so_far.size(); ++i) so_far[i].reset();
    return seconds_for_rest(plan, std::span<const std::optional<double>>(so_far));
  };
  EXPECT_EQ(left(0), std::nullopt);
  EXPECT_DOUBLE_EQ(*left(1), 5 * 10.0);
  EXPECT_DOUBLE_EQ(*left(2), 2 * 30.0 + 2 * 10.0);
  EXPECT_DOUBLE_EQ(*left(4), 11.0 + 31.0);
  EXPECT_DOUBLE_EQ(*left(6), 0.0);
}

}  // namespace
}  // namespace tandem
