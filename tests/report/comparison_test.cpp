#include "report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "example_comparison.h"
#include "example_record.h"
#include "report/report_file.h"
#include "temporary_folder.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Comparison, SpeedupIsOverTheSlowestRowWithTheWidestRange) {
  const auto result = example_comparison();
  EXPECT_EQ(result.slowest, "tcp, paced");
  EXPECT_EQ(result.rows[0].epoch_s, (Spread{.median = 2.0, .min = 1.6, .max = 2.5}));
  EXPECT_EQ(result.rows[1].epoch_s, (Spread{.median = 5.0, .min = 4.0, .max = 6.0}));
  EXPECT_EQ(result.rows[0].speedup, (Spread{.median = 2.5, .min = 1.6, .max = 3.75}));
  EXPECT_EQ(result.rows[1].speedup.median, 1.0);
}

TEST(Comparison, RowsCarryWhatWasFound) {
  const auto result = example_comparison();
  const auto& row = result.rows[1];
  EXPECT_EQ(row.asked, "tcp");
  EXPECT_EQ(row.transport_found, "tcp");
  EXPECT_THAT(row.caveats, ElementsAre("paced to 1 Gbit/s + 50 us"));
  EXPECT_EQ(row.repeats, 3);
  EXPECT_EQ(row.bytes_per_step, 312'256);
  EXPECT_EQ(row.exposed_share->median, 0.1);
  EXPECT_EQ(row.busy_share->median, 0.4);
  EXPECT_EQ(row.overlap_ratio->median, 0.75);
  EXPECT_EQ(row.items_per_s->median, 32 / 5.0);
  EXPECT_EQ(result.accuracy->correct, 871);
}

TEST(Comparison, TransportsThatDifferBetweenRepeatsAreAllNamed) {
  auto links = example_links();
  links[0].repeats[1].link.transport_found = "tcp";
  EXPECT_EQ(build_comparison(links).rows[0].transport_found, "shm / tcp");
}

TEST(Comparison, AValueThatOneRepeatLacksIsNotShownAsIfAllHadIt) {
  auto links = example_links();
  links[0].repeats[1].bucket_times.reset();
  const auto result = build_comparison(links);
  EXPECT_EQ(result.rows[0].bus_gb_per_s_in_training, std::nullopt);
  EXPECT_NE(result.rows[1].bus_gb_per_s_in_training, std::nullopt);
}

TEST(Comparison, RunsThatDifferInMoreThanTheLinkAreRefused) {
  const std::vector<std::pair<std::string, std::function<void(RunRecord&)>>> cases = {
      {"model.name", [](RunRecord& r) { r.model.name = "resnet20"; }},
      {"model.parameters", [](RunRecord& r) { ++r.model.parameters; }},
      {"batch.micro", [](RunRecord& r) { r.batch.micro = 4; }},
      {"batch.accumulation", [](RunRecord& r) { r.batch.accumulation = 2; }},
      {"batch.global", [](RunRecord& r) { r.batch.global = 32; }},
      {"batch.item", [](RunRecord& r) { r.batch.item = "tokens"; }},
      {"world_size", [](RunRecord& r) { r.world_size = 4; }},
      {"reduction.grouping", [](RunRecord& r) { r.reduction.grouping = "per_tensor"; }},
      {"reduction.update_order", [](RunRecord& r) { r.reduction.update_order = "gated"; }},
      {"bytes reduced per step", [](RunRecord& r) { r.buckets.pop_back(); }},
      {"not_training", [](RunRecord& r) { r.not_training = true; }},
      {"epochs[0].steps", [](RunRecord& r) { r.epochs[0].steps = 1; }},
      {"epochs[0].items", [](RunRecord& r) { r.epochs[0].items = 16; }},
      {"number of epochs", [](RunRecord& r) { r.epochs.pop_back(); }}};
  for (const auto& [field, change] : cases) {
    auto links = example_links();
    change(links[1].repeats[2]);
    try {
      build_comparison(links);
      ADD_FAILURE() << "no error for " << field;
    } catch (const InputError& error) {
      EXPECT_EQ(error.problem().where, field + ": run \"tcp, paced 3\"");
      EXPECT_THAT(error.problem().expected, HasSubstr("as in run \"shm 1\""));
    }
  }
}

TEST(Comparison, ARowOfAnotherScheduleSaysSo) {
  auto links = example_links();
  for (auto& run : links[1].repeats) run.reduction.schedule = "after";
  const auto result = build_comparison(links);
  EXPECT_EQ(result.reduction.schedule, "overlapped");
  EXPECT_THAT(result.rows[0].caveats, IsEmpty());
  EXPECT_THAT(result.rows[1].caveats, ElementsAre("paced to 1 Gbit/s + 50 us", "schedule after"));
}

TEST(Comparison, RepeatsOfOneRowHaveOneSchedule) {
  auto links = example_links();
  links[1].repeats[2].reduction.schedule = "after";
  try {
    build_comparison(links);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().where, "reduction.schedule: run \"tcp, paced 3\"");
    EXPECT_THAT(error.problem().expected, HasSubstr("as in run \"tcp, paced 1\""));
  }
}

TEST(ReportFile, NamesItsSchemaWhateverTheRest) {
  EXPECT_EQ(schema_of(to_json(example_comparison()), "compare.json"), CompareResult::kSchema);
  EXPECT_EQ(schema_of(to_json(example_record()), "run.json"), RunRecord::kSchema);
  EXPECT_EQ(schema_of("{\"schema\": \"other/7\"}", "other.json"), "other/7");
  for (const char* text : {"", "[]", "7", "{}", "{\"schema\": 1}", "{\"schema\": null}", "schema"})
    EXPECT_THROW(schema_of(text, "file.json"), InputError) << text;
}

TEST(Comparison, AnOlderFileIsReadWithoutWhatItDidNotKnow) {
  auto result = example_comparison();
  auto old = nlohmann::ordered_json::parse(to_json(result));
  old["schema"] = CompareResult::kOldSchemas[0];
  for (const auto* unknown : {"clocks_mhz", "ranks_in_all_reduce", "started", "program", "versions",
                              "environment", "command_line", "topology"})
    old.erase(unknown);
  old["model"].erase("flops_per_item");
  old["batch"].erase("steps_per_epoch");
  for (auto& row : old["rows"]) {
    for (const auto* unknown :
         {"paired_speedup", "machine", "command_line", "parts", "all_reduces", "conclusions", "control"})
      row.erase(unknown);
  }
  result.model.flops_per_item.reset();
  result.batch.steps_per_epoch = 0;
  result.clocks_mhz.clear();
  result.ranks_in_all_reduce = result.world_size;
  result.topology.clear();
  result.started.clear();
  result.program = {.version = "", .git = "unknown", .build = ""};
  result.versions.clear();
  result.environment.clear();
  result.command_line.clear();
  for (auto& row : result.rows) {
    row.paired_speedup.reset();
    row.control.reset();
    row.machine.clear();
    row.command_line.clear();
    row.parts.clear();
    row.all_reduces.clear();
    row.conclusions.clear();
  }
  EXPECT_EQ(comparison_from_json(old.dump(), "compare.json"), result);
  for (const char* broken :
       {"{\"schema\": \"tandem.compare/1\"}", "{\"schema\": \"tandem.compare/1\", \"rows\": [1]}"})
    EXPECT_THROW(comparison_from_json(broken, "compare.json"), InputError);
}

TEST(Comparison, VersionTwoIsReadWithoutItsControlRuns) {
  auto result = example_comparison();
  auto old = nlohmann::ordered_json::parse(to_json(result));
  old["schema"] = CompareResult::kOldSchemas[1];
  for (auto& row : old["rows"]) row.erase("control");
  for (auto& gpu : old["topology"][0]["gpus"]) gpu.erase("pcie_route");
  for (auto& row : result.rows) row.control.reset();
  for (auto& gpu : result.topology[0].gpus) gpu.pcie_route.clear();
  EXPECT_EQ(comparison_from_json(old.dump(), "compare.json"), result);
}

// Of the example: two pairs, contention 1 and 2 ms (tests/report/contention_test.cpp); here in each repeat.
TEST(Comparison, PairsOfAllRepeatsShowContention) {
  auto links = example_links();
  const auto result = build_comparison(links);
  ASSERT_TRUE(result.rows[0].control);
  EXPECT_EQ(result.rows[0].control->pairs, 6);
  EXPECT_EQ(result.rows[0].control->contention_ms, (Spread{.median = 1.5, .min = 1.0, .max = 2.0}));
  links[0].repeats[1].control.reset();
  EXPECT_EQ(build_comparison(links).rows[0].control, std::nullopt) << "a repeat without one";
}

TEST(Comparison, PairsRoundsWhereRunsWereInterleaved) {
  auto links = example_links();
  EXPECT_EQ(build_comparison(links).rows[0].paired_speedup, std::nullopt);
  for (auto& link : links) link.in_rounds = true;
  const auto result = build_comparison(links);
  ASSERT_TRUE(result.rows[0].paired_speedup);
  EXPECT_EQ(result.rows[0].paired_speedup->pairs, 3);
  EXPECT_EQ(result.rows[1].paired_speedup, std::nullopt) << "the slowest itself";
  EXPECT_EQ(comparison_from_json(to_json(result), "compare.json"), result);
}

TEST(Comparison, RowsOfSeveralMachinesNameTheirs) {
  auto links = example_links();
  for (auto& run : links[1].repeats) run.hosts.front().name = "tower";
  const auto result = build_comparison(links);
  EXPECT_EQ(result.rows[0].machine, "box (A CPU)");
  EXPECT_EQ(result.rows[1].machine, "tower (A CPU)");
  EXPECT_EQ(result.hosts.size(), 2u);
}

TEST(Comparison, NothingToCompareIsAnError) {
  EXPECT_THROW(build_comparison({}), InputError);
  auto links = example_links();
  links[1].repeats.clear();
  EXPECT_THROW(build_comparison(links), InputError);
  links = example_links();
  links[1].repeats[0].epochs.clear();
  EXPECT_THROW(build_comparison(links), InputError);
  RunRecord accuracy = example_record();
  accuracy.results.reset();
  EXPECT_THROW(build_comparison(example_links(), accuracy), Error);
}

TEST(Comparison, ComesBackAsItWasWritten) {
  const auto result = example_comparison();
  EXPECT_EQ(comparison_from_json(to_json(result), "compare.json"), result);
  const TemporaryFolder folder;
  write_comparison(result, folder.path() / "compare.json");
  EXPECT_EQ(read_comparison(folder.path() / "compare.json"), result);
  EXPECT_EQ(to_json(result).rfind("{\n  \"schema\": \"tandem.compare/3\"", 0), 0u);
}

TEST(Comparison, EveryFieldIsRequired) {
  using Json = nlohmann::ordered_json;
  const Json whole = Json::parse(to_json(example_comparison()));
  const Json flat = whole.flatten();
  for (const auto& item : flat.items()) {
    const Json::json_pointer at(item.key());
    const auto parent = at.parent_pointer();
    // of any keys
    const bool map = !parent.empty() && (parent.back() == "versions" || parent.back() == "environment");
    if (!whole[parent].is_object() || map) continue;
    Json broken = whole;
    broken[at.parent_pointer()].erase(at.back());
    EXPECT_THROW(comparison_from_json(broken.dump(), "compare.json"), InputError) << item.key();
  }
  EXPECT_THROW(comparison_from_json(to_json(example_record()), "compare.json"), InputError);
}

}  // namespace
}  // namespace tandem
