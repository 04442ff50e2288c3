#include <gtest/gtest.h>

#include "page/compare_page.h"
#include "page/example_pages.h"
#include "page/run_page.h"
#include "page/scaling_page.h"
#include "page/sweep_page.h"
#include "report/example_comparison.h"
#include "report/example_record.h"

namespace tandem {
namespace {

// A page is too long to be printed when it lacks something.
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(RunPage, TellsWhatTheRecordKnows) {
  const auto page = run_page(example_record());
  for (const char* part :
       {"<h1>example</h1>", "paced to 1 Gbit/s + 50 us", "Compute bound (", "resnet8",
        "fc.weight … s2.conv.weight", "mpirun -np 2 ./trainer --config example.yaml", "micro_batch: 8",
        "NCCL_NVLS_ENABLE", "87.10 %", "g++ 12.2.0", "wait for bucket 1: stem.weight", "a note | with a bar",
        "Released under the MIT License"})
    EXPECT_TRUE(has(page, part)) << part;
}

TEST(RunPage, HasNoGapLeftAndAsksForNothingOutside) {
  for (const auto& [name, page, charts] : example_pages()) {
    const auto before_script = page.substr(0, page.find("id=\"data\""));
    EXPECT_FALSE(has(before_script, "{{")) << name;
    for (const char* outside : {" src=\"", "@import", "url(", "<link rel=\"stylesheet\""})
      EXPECT_FALSE(has(before_script, outside)) << name << outside;
  }
}

TEST(RunPage, HostileTextStaysText) {
  auto run = example_record();
  const std::string hostile =
      "</script><script>hostile()</script><img onerror=hostile() src=x>\" onload='hostile()";
  const auto usual = count(run_page(run), "<script");
  run.name = run.started = run.command_line = run.config = run.model.name = hostile;
  run.program.git = run.link.asked = run.link.transport_found = run.link.description = hostile;
  run.hosts[0].name = run.hosts[0].processor = run.learning_rate.formula = hostile;
  run.buckets[0].first_parameter = run.buckets[1].first_parameter = hostile;
  run.versions[hostile] = run.environment[hostile] = hostile;
  run.startup[0].phase = hostile;
  run.notes = {hostile};
  const auto page = run_page(run);
  EXPECT_EQ(count(page, "<script"), usual);
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page.substr(0, page.find("id=\"data\"")), "\" onload="));
}

TEST(RunPage, ARunWithoutTimingHasAPage) {
  auto run = example_record();
  run.timing.clear();
  run.timelines.clear();
  run.bucket_times.reset();
  run.epochs.clear();
  run.losses.clear();
  run.results.reset();
  run.control.reset();
  const auto page = run_page(run);
  EXPECT_FALSE(has(page, "Where a step goes"));
  EXPECT_TRUE(has(page, "How to reproduce it"));
}

TEST(ComparePage, HasTheTableWithRangesThePartsAndTheCommand) {
  auto result = example_comparison();
  result.command_line = "./launcher compare --links shm,tcp";
  const auto page = compare_page(result);
  for (const char* part : {"2.50 (1.60–3.75)", "speedup over tcp, paced", "communication, exposed ms",
                           "./launcher compare --links shm,tcp", "Compute bound", "87.10 %"})
    EXPECT_TRUE(has(page, part)) << part;
}

TEST(ComparePage, DrawsAStepOfEachRowOnOneTimeAxis) {
  auto links = example_links();
  for (auto& run : links[0].repeats)  // half as long, so that its own axis would end earlier
    for (auto& rank : run.timelines[0].ranks) rank.next_begin_ms = rank.end_ms;
  const auto result = build_comparison(links);
  const auto page = compare_page(result, {.runs = runs_for_page(links), .accuracy = {}, .diff = {}});
  EXPECT_EQ(count(page, "aria-label=\"Timeline of one step on "), 2u);
  // The ends of both axes: the first wait is drawn at the same place in both.
  const auto first = page.find("wait for bucket 1: stem.weight, 3.000 ms");
  ASSERT_NE(first, std::string::npos);
  const auto second = page.find("wait for bucket 1: stem.weight, 3.000 ms", first + 1);
  ASSERT_NE(second, std::string::npos);
  const auto place = [&](std::size_t at) {
    const auto begin = page.rfind("x=\"", at);
    return page.substr(begin, page.find('"', begin + 3) - begin);
  };
  EXPECT_EQ(place(first), place(second));
}

TEST(ComparePage, SaysWhichRecordsAreMissing) {
  const auto links = example_links();
  auto runs = runs_for_page(links);
  runs[0].reset();
  const auto page = compare_page(build_comparison(links), {.runs = runs, .accuracy = {}, .diff = {}});
  EXPECT_TRUE(has(page, "the timeline and the losses of shm."));
  EXPECT_EQ(count(page, "aria-label=\"Timeline of one step on "), 1u);
  EXPECT_FALSE(
      has(compare_page(build_comparison(links), {.runs = runs_for_page(links), .accuracy = {}, .diff = {}}),
          "Not drawn"));
}

TEST(ComparePage, TheLossesOfAllLinksAreInOneChartAndOneTable) {
  auto links = example_links();
  for (auto& run : links[1].repeats) run.losses = {{.step = 0, .loss = 7.5}};
  const auto page =
      compare_page(build_comparison(links), {.runs = runs_for_page(links), .accuracy = {}, .diff = {}});
  EXPECT_TRUE(
      has(page, "\"losses\":{\"series\":[{\"training\":[{\"x\":0.0,\"y\":2.5},{\"x\":3.0,\"y\":1.25}]"));
  EXPECT_TRUE(has(page, "7.5000"));
}

TEST(SweepPage, HasALinePerValueOfTheSecondKeyAndMarksTheBest) {
  const auto page = sweep_page(example_sweep());
  EXPECT_TRUE(
      has(page, "\"name\":\"train.b=x\",\"points\":[{\"x\":\"1\",\"y\":1000.0},{\"x\":\"2\",\"y\":1100.0}]"));
  EXPECT_TRUE(has(page,
                  "\"points\":[{\"x\":\"1\",\"y\":null},{\"x\":\"2\",\"y\":1234.0}],"
                  "\"ranges\":[null,[1224.0,1244.0]],\"best\":[false,true]"));
  auto none = example_sweep();
  none.best.reset();
  none.points.resize(2);
  none.points[0] = none.points[1];
  EXPECT_TRUE(has(sweep_page(none), "No point has run."));
}

TEST(SweepPage, HostileTextStaysText) {
  auto sweep = example_sweep();
  sweep.keys[0] = sweep.model = sweep.hosts[0].name = sweep.points[3].values[0] = sweep.points[1].failure =
      "</script><script>hostile()</script>";
  EXPECT_EQ(count(sweep_page(sweep), "<script"), count(sweep_page(example_sweep()), "<script"));
}

TEST(ScalingPage, ComparesWithTheIdeal) {
  auto result = example_scaling();
  const auto weak = scaling_page(result);
  EXPECT_TRUE(has(weak, "\"ideal\":[{\"x\":1.0,\"y\":1.0},{\"x\":2.0,\"y\":1.0},{\"x\":4.0,\"y\":1.0}]"));
  EXPECT_TRUE(has(weak, "images/s per rank of 1 rank."));
  result.kind = ScalingKind::Strong;
  EXPECT_TRUE(has(scaling_page(result), "{\"x\":4.0,\"y\":4.0}"));
}

TEST(ComparePage, ADifferenceIsASection) {
  auto other = example_record();
  other.config = "train:\n  micro_batch: 16\n";
  const auto page = diff_page(diff_runs(example_record(), other));
  EXPECT_TRUE(has(page, "train.micro_batch"));
  EXPECT_FALSE(has(page, "How to reproduce"));
}

// Two all-reduces lie on any line; the third, in the middle of their sizes, decides.
std::string page_with_middle_bucket(double wire_ms) {
  auto run = example_record();
  run.timelines.clear();
  run.buckets = {
      {.index = 0, .bytes = 100'000}, {.index = 1, .bytes = 500'000}, {.index = 2, .bytes = 900'000}};
  run.bucket_times->buckets.clear();
  for (const double ms : {2.0, wire_ms, 4.0})
    run.bucket_times->buckets.push_back(
        {.rank_median_ms = {ms, ms}, .rank_exposed_ms = {0.0, 0.0}, .wire_ms = ms});
  return run_page(run);
}

TEST(RunPage, DrawsALineOnlyIfTheBucketsFollowIt) {
  const auto on_it = page_with_middle_bucket(3.0);
  EXPECT_TRUE(has(on_it, "it explains 100 % of how the times differ"));
  EXPECT_FALSE(has(on_it, "\"fit\":[]"));
  // r² = cov² / (var bytes · var ms) = 2² / (2 · 68.67)
  const auto off_it = page_with_middle_bucket(13.0);
  EXPECT_TRUE(has(off_it, "No line is drawn: time = latency + bytes / bandwidth explains only 3 %"));
  EXPECT_TRUE(has(off_it, "\"fit\":[]"));
}

}  // namespace
}  // namespace tandem
