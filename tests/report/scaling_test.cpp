#include "report/scaling.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "example_record.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Size {
  int ranks;
  int micro;
};

// Trains `items_per_s` images in its second epoch, which takes a second.
LabelledRun run_of(Size size, std::int64_t items_per_s, std::string label = "shm") {
  auto run = example_record();
  run.name = fmt::format("{} on {}", label, size.ranks);
  run.world_size = size.ranks;
  run.hosts[0].ranks = size.ranks;
  run.batch.micro = size.micro;
  run.batch.global = size.micro * size.ranks;
  run.epochs[1].wall_s = 1.0;
  run.epochs[1].items = items_per_s;
  run.link.paced.reset();
  return {.label = std::move(label), .run = std::move(run)};
}

TEST(Scaling, WeakIsThroughputPerRankOverThatOfOne) {
  const auto result = build_scaling({run_of({4, 8}, 300), run_of({1, 8}, 100), run_of({2, 8}, 180)});
  EXPECT_EQ(result.kind, ScalingKind::Weak);
  EXPECT_EQ(result.base_ranks, 1);
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_DOUBLE_EQ(result.rows[0].ratio.median, 1.0);
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.median, 0.9);
  EXPECT_DOUBLE_EQ(result.rows[2].ratio.median, 0.75);
  EXPECT_THAT(scaling_markdown(result), AllOf(HasSubstr("weak efficiency over 1 rank"), HasSubstr("0.75")));
}

TEST(Scaling, StrongIsThroughputOverThatOfOne) {
  const auto result = build_scaling({run_of({1, 32}, 100), run_of({4, 8}, 300)});
  EXPECT_EQ(result.kind, ScalingKind::Strong);
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.median, 3.0);
  EXPECT_THAT(scaling_markdown(result), HasSubstr("strong speedup over 1 rank"));
  EXPECT_THAT(scaling_csv_table(result).csv(), HasSubstr("strong_speedup_median"));
}

TEST(Scaling, AccumulationCountsAsBatch) {
  auto one = run_of({1, 8}, 100);
  one.run.batch.accumulation = 2;
  one.run.batch.global = 16;
  EXPECT_EQ(build_scaling({one, run_of({2, 8}, 150)}).kind, ScalingKind::Strong);
  EXPECT_EQ(build_scaling({one, run_of({2, 16}, 150)}).kind, ScalingKind::Weak);
}

TEST(Scaling, WithoutARunOfOneTheFewestRanksAreTheBaseAndNamed) {
  const auto result = build_scaling({run_of({2, 8}, 200), run_of({8, 8}, 400)});
  EXPECT_EQ(result.base_ranks, 2);
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.median, 0.5);
  EXPECT_THAT(scaling_markdown(result), HasSubstr("weak efficiency over 2 ranks"));
}

TEST(Scaling, RangesAreTheWidestThatRepeatsAllow) {
  const auto result = build_scaling({run_of({1, 8}, 90), run_of({1, 8}, 110), run_of({2, 8}, 150),
                                     run_of({2, 8}, 170), run_of({2, 8}, 160)});
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[1].repeats, 3);
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.median, 0.8);
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.min, 150.0 / (2 * 110.0));
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.max, 170.0 / (2 * 90.0));
}

TEST(Scaling, LinksAreRowsOfTheirOwn) {
  const auto result =
      build_scaling({run_of({1, 8}, 100, "auto"), run_of({2, 8}, 180, "shm"), run_of({2, 8}, 120, "tcp")});
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_DOUBLE_EQ(result.rows[1].ratio.median, 0.9);
  EXPECT_DOUBLE_EQ(result.rows[2].ratio.median, 0.6);
}

TEST(Scaling, RefusesWhatDoesNotCompare) {
  const auto refused = [](const std::vector<LabelledRun>& runs) {
    try {
      build_scaling(runs);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto one = run_of({1, 8}, 100);
  EXPECT_THAT(refused({one, run_of({2, 5}, 100)}),
              AllOf(HasSubstr("5 samples per rank and 10 in all"), HasSubstr("shm on 2")));
  auto other = run_of({2, 8}, 100);
  other.run.model.name = "resnet50";
  EXPECT_THAT(refused({one, other}), HasSubstr("model.name resnet50"));
  auto unfinished = run_of({2, 8}, 100);
  unfinished.run.epochs.clear();
  EXPECT_THAT(refused({one, unfinished}), HasSubstr("without epochs"));
  EXPECT_THAT(refused({run_of({2, 8}, 100, "shm"), run_of({2, 8}, 90, "tcp"), run_of({4, 8}, 150, "shm")}),
              HasSubstr("shm and tcp"));
}

}  // namespace
}  // namespace tandem
