#include "report/record_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "example_comparison.h"
#include "example_record.h"
#include "report/config_text.h"

namespace tandem {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const MovedQuantity& quantity(const RecordDiff& diff, const std::string& name) {
  return *std::ranges::find(diff.moved, name, &MovedQuantity::quantity);
}

TEST(ConfigValues, KeysArePathsThroughTheMaps) {
  const auto values =
      config_values("seed: 1\nmodel:\n  name: x\n  deep:\n    a: [1, 2]\n  b: \"\"\ndata:\n  path: a:b\n");
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"seed", "1"},
                                                        {"model.name", "x"},
                                                        {"model.deep.a", "[1, 2]"},
                                                        {"model.b", "\"\""},
                                                        {"data.path", "a:b"}}));
  EXPECT_THAT(config_values(" :\n\n-\n"), IsEmpty());
}

TEST(RecordDiff, WhatJoinsTheGpusAndWhereRanksSitAreTopology) {
  auto other = example_record();
  other.topology[0].gpu_paths[0].path = "SYS";
  other.topology[0].ranks[1].gpu = 1;
  EXPECT_THAT(diff_runs(example_record(), other).changed,
              ElementsAre(ChangedFact{"topology", "host: between GPUs", "0-1 NV18", "0-1 SYS"},
                          ChangedFact{"topology", "host: places", "rank 0 on GPU 0, rank 1 on 2 cores",
                                      "rank 0 on GPU 0, rank 1 on GPU 1"}));
}

TEST(RecordDiff, EqualRunsDifferInNothing) {
  const auto diff = diff_runs(example_record(), example_record());
  EXPECT_THAT(diff.changed, IsEmpty());
  for (const auto& moved : diff.moved) EXPECT_EQ(moved.change(), 0.0) << moved.quantity;
  EXPECT_THAT(diff_markdown(diff), HasSubstr("Nothing that the records know of."));
}

TEST(RecordDiff, NamesWhatChanged) {
  auto b = example_record();
  b.config = "train:\n  micro_batch: 16\n  extra: 1\n";
  b.versions["mpi"] = "Open MPI 5.0.0";
  b.environment.erase("NCCL_NVLS_ENABLE");
  b.hosts[0].cores = 8;
  const auto changed = diff_runs(example_record(), b).changed;
  EXPECT_THAT(changed, Contains(ChangedFact{"config", "train.micro_batch", "8", "16"}));
  EXPECT_THAT(changed, Contains(ChangedFact{"config", "train.extra", "", "1"}));
  EXPECT_THAT(changed, Contains(ChangedFact{"version", "mpi", "Open MPI 4.1.4", "Open MPI 5.0.0"}));
  EXPECT_THAT(changed, Contains(ChangedFact{"environment", "NCCL_NVLS_ENABLE", "0", ""}));
  EXPECT_THAT(changed, Contains(ChangedFact{"topology", "host: cores", "4", "8"}));
  EXPECT_EQ(changed.size(), 5u);
}

TEST(RecordDiff, AMoveCountsOnlyBeyondTheNoise) {
  MovedQuantity moved{.quantity = "step ms",
                      .a = {.median = 10.0, .min = 9.0, .max = 11.0},
                      .b = {.median = 12.0, .min = 11.0, .max = 13.0},
                      .has_ranges = true};
  EXPECT_EQ(moved.noise(), 2.0);
  EXPECT_EQ(moved.beyond_noise(), false);
  moved.b.median = 12.01;
  EXPECT_EQ(moved.beyond_noise(), true);
  moved.has_ranges = false;
  EXPECT_EQ(moved.beyond_noise(), std::nullopt);
}

TEST(RecordDiff, StepsAreComparedByStretches) {
  auto b = example_record();
  for (auto& rank : b.timing)
    for (auto& ms : rank.step_ms) *ms += 5.0;
  const auto diff = diff_runs(example_record(), b);
  EXPECT_EQ(quantity(diff, "step ms").change(), 5.0);
  EXPECT_EQ(quantity(diff, "step ms").beyond_noise(), true);
  EXPECT_EQ(quantity(diff, "forward ms").beyond_noise(), false);
  EXPECT_THAT(moved_line(diff), HasSubstr("step ms (+12.5 %)"));
}

TEST(RecordDiff, ComparisonsAreMatchedByTheirRows) {
  auto b = example_comparison();
  b.rows[0].epoch_s = {.median = 3.0, .min = 2.9, .max = 3.1};
  b.rows[1].label = "other";
  const auto diff = diff_comparisons(example_comparison(), b);
  EXPECT_EQ(quantity(diff, "shm: epoch time s").beyond_noise(), true);  // 1.0 against (0.9 + 0.2) / 2
  EXPECT_EQ(
      std::ranges::count_if(diff.moved, [](const auto& moved) { return moved.quantity.starts_with("tcp"); }),
      0);
}

}  // namespace
}  // namespace tandem
