#include "report/run_record.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "example_record.h"
#include "report/atomic_file.h"
#include "temporary_folder.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

Json example_json() {
  return Json::parse(to_json(example_record()));
}

RunRecord parse(const Json& json) {
  return run_record_from_json(json.dump(), "run.json");
}

// The objects whose keys are the writer's choice.
bool is_map(const Json::json_pointer& at) {
  return at.to_string() == "/versions" || at.to_string() == "/environment";
}

// The problem that reading `text` reports; fails the test if there is none.
InputProblem problem_of(const std::string& text) {
  try {
    run_record_from_json(text, "run.json");
  } catch (const InputError& error) {
    return error.problem();
  }
  ADD_FAILURE() << "no error for " << text.substr(0, 2000);
  return {};
}
InputProblem problem_of(const Json& json) {
  return problem_of(json.dump());
}

// "timing[0].step_ms[3]" of the JSON pointer /timing/0/step_ms/3.
std::string path_of(const Json::json_pointer& pointer) {
  if (pointer.empty()) return {};
  const std::string above = path_of(pointer.parent_pointer());
  const std::string& last = pointer.back();
  if (std::isdigit(static_cast<unsigned char>(last.front()))) return fmt::format("{}[{}]", above, last);
  return above.empty() ? last : fmt::format("{}.{}", above, last);
}

void for_each_value(const Json& value, const Json::json_pointer& at,
                    const std::function<void(const Json::json_pointer&, const Json&)>& visit) {
  if (!at.empty()) visit(at, value);
  if (value.is_object())
    for (const auto& item : value.items()) for_each_value(item.value(), at / item.key(), visit);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) for_each_value(value[i], at / i, visit);
}

TEST(RunRecord, ComesBackAsItWasWritten) {
  const RunRecord run = example_record();
  EXPECT_EQ(run_record_from_json(to_json(run), "run.json"), run);

  const TemporaryFolder folder;
  write_run_record(run, folder.path() / "run.json");
  EXPECT_EQ(read_run_record(folder.path() / "run.json"), run);
}

TEST(RunRecord, ComesBackWithEverythingLeftOutThatMayBe) {
  RunRecord run;
  run.hosts = {{.name = "box", .processor = "", .cores = 1, .ranks = 1}};
  run.batch = {.micro = 1, .accumulation = 1, .global = 1, .item = "tokens", .steps_per_epoch = 1};
  run.reduction = {.grouping = "per_tensor", .schedule = "after", .update_order = "gated"};
  EXPECT_EQ(run_record_from_json(to_json(run), "run.json"), run);
}

TEST(RunRecord, KeepsUnrecordedSamplesApartFrom0) {
  RunRecord run = example_record();
  run.timing[1].exposed_ms[2].reset();
  run.timing[1].exposed_ms[3] = 0.0;
  const auto back = run_record_from_json(to_json(run), "run.json");
  EXPECT_EQ(back.timing[1].exposed_ms[2], std::nullopt);
  EXPECT_EQ(back.timing[1].exposed_ms[3], 0.0);
}

TEST(RunRecord, KeepsLossesThatAreNotFinite) {
  RunRecord run = example_record();
  const double inf = std::numeric_limits<double>::infinity();
  run.losses = {{0, inf}, {1, -inf}, {2, std::nan("")}};
  const auto back = run_record_from_json(to_json(run), "run.json");
  EXPECT_EQ(back.losses[0].loss, inf);
  EXPECT_EQ(back.losses[1].loss, -inf);
  EXPECT_TRUE(std::isnan(back.losses[2].loss));
}

TEST(RunRecord, KeepsAnyText) {
  RunRecord run = example_record();
  run.config = "a: \"b\\\"\t\x01\n# \xc3\xa9 \xe2\x80\x93 \xf0\x9f\x98\x80\n";
  run.versions["a.b[0]"] = "";
  EXPECT_EQ(run_record_from_json(to_json(run), "run.json"), run);
  run.command_line = "./trainer \xff";  // not UTF-8: still written
  EXPECT_EQ(run_record_from_json(to_json(run), "run.json").command_line, "./trainer \xef\xbf\xbd");
}

TEST(RunRecord, WritesSamplesOnOneLineAndFieldsOnTheirOwn) {
  const std::string text = to_json(example_record());
  EXPECT_EQ(text.rfind("{\n  \"schema\": \"tandem.run/3\",\n  \"name\": \"example\",\n", 0), 0u);
  EXPECT_THAT(text, HasSubstr("\n      \"step_ms\": [80.0, 40.0, 40.0, 40.0],\n"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(RunRecord, AppendRoundsToATenthOfAMicrosecond) {
  RankTimingRecord timing;
  append_step(timing, {.step_ms = 1.23456789, .forward_ms = 0.00004});
  EXPECT_EQ(timing.step_ms, (Samples{1.2346}));
  EXPECT_EQ(timing.forward_ms, (Samples{0.0}));
  EXPECT_EQ(timing.other_ms, (Samples{std::nullopt}));
}

TEST(RunRecord, EveryFieldIsRequired) {
  const Json whole = example_json();
  int fields = 0;
  for_each_value(whole, Json::json_pointer(), [&](const Json::json_pointer& at, const Json&) {
    if (!whole[at.parent_pointer()].is_object() || is_map(at.parent_pointer())) return;
    Json broken = whole;
    broken[at.parent_pointer()].erase(at.back());
    const auto problem = problem_of(broken);
    EXPECT_EQ(problem.where, "run.json: " + path_of(at));
    EXPECT_EQ(problem.what, "A field is missing.");
    ++fields;
  });
  EXPECT_GT(fields, 100);
}

TEST(RunRecord, EveryFieldHasOneType) {
  const Json whole = example_json();
  const std::vector<Json> others = {nullptr,       true, -1, 1.5, "text", Json::array({Json::object()}),
                                    Json{{"k", 1}}};
  int rejected = 0;
  for_each_value(whole, Json::json_pointer(), [&](const Json::json_pointer& at, const Json& value) {
    for (const Json& other : others) {
      const bool optional_number = value.is_null() && path_of(at) != "link.emulated";
      const bool number_for_number = (value.is_number_float() || optional_number) && other.is_number();
      const bool text_for_text = value.is_string() && other.is_string();
      const bool null_for_optional = other.is_null();  // which fields may be null is the next test's
      const bool object_for_map = is_map(at) && other.is_object();
      if (number_for_number || text_for_text || null_for_optional || object_for_map) continue;
      if (value.is_boolean() && other.is_boolean()) continue;
      Json broken = whole;
      broken[at] = other;
      EXPECT_THAT(problem_of(broken).where, HasSubstr("run.json: " + path_of(at))) << other;
      ++rejected;
    }
  });
  EXPECT_GT(rejected, 1000);
}

TEST(RunRecord, OnlyOptionalFieldsMayBeNull) {
  const Json whole = example_json();
  const auto may_be_null = [](const std::string& path) {
    for (const char* name :
         {"link.proof", "link.nccl", "link.paced", "link.emulated", "link.bus_gb_per_s_standalone",
          "model.flops_per_item", "graph_capture_ms", "bucket_times", "control", "peak", "energy", "prices",
          "prices.per_rank_hour", "prices.per_kwh", "results", "results.eval_loss", "parameter_hash"})
      if (path == name) return true;
    const bool sample = path.rfind("timing[", 0) == 0 && path.find("_ms[") != std::string::npos;
    const bool epoch_value = path.rfind("epochs[", 0) == 0 && (path.find("loss") != std::string::npos ||
                                                               path.find("accuracy") != std::string::npos ||
                                                               path.find("energy") != std::string::npos);
    const bool place = path.rfind("topology[", 0) == 0 &&
                       (path.ends_with(".numa") || path.ends_with(".gpu")) &&
                       path.find("cores") == std::string::npos;
    return sample || epoch_value || place;
  };
  for_each_value(whole, Json::json_pointer(), [&](const Json::json_pointer& at, const Json&) {
    Json changed = whole;
    changed[at] = nullptr;
    const std::string path = path_of(at);
    if (may_be_null(path))
      EXPECT_NO_THROW(parse(changed)) << path;
    else
      EXPECT_EQ(problem_of(changed).where, "run.json: " + path);
  });
}

TEST(RunRecord, UnknownFieldsAreRefusedWhereverTheyStand) {
  const Json whole = example_json();
  for_each_value(whole, Json::json_pointer(), [&](const Json::json_pointer& at, const Json& value) {
    if (!value.is_object() || is_map(at)) return;
    Json broken = whole;
    broken[at]["step_mss"] = 1;
    EXPECT_EQ(problem_of(broken).where, "run.json: " + path_of(at) + ".step_mss");
  });
}

TEST(RunRecord, CountsMustBeWholeAndFit) {
  for (const char* literal :
       {"-1", "1.0", "1e3", "2147483648", "9223372036854775808", "99999999999999999999"}) {
    Json broken = example_json();
    broken["warmup_steps"] = Json::parse(literal);
    EXPECT_EQ(problem_of(broken).where, "run.json: warmup_steps") << literal;
  }
  Json large = example_json();
  large["model"]["parameters"] = 9'223'372'036'854'775'807;
  EXPECT_EQ(parse(large).model.parameters, 9'223'372'036'854'775'807);
}

TEST(RunRecord, AnotherSchemaIsNamedBeforeAnythingElse) {
  for (const Json& schema : {Json("tandem.run/1"), Json("tandem.compare/2"), Json(1), Json(nullptr)}) {
    const Json other = {{"schema", schema}, {"surprise", 1}};
    const auto problem = problem_of(other);
    EXPECT_EQ(problem.where, "run.json: schema");
    EXPECT_EQ(problem.expected, "\"tandem.run/3\"");
    EXPECT_EQ(problem.found, schema.dump());
  }
}

TEST(RunRecord, TextThatIsNoRecordIsRefused) {
  for (const char* text : {"", " ", "null", "[]", "7", "\"text\"", "{}", "{\"schema\"", "nonsense",
                           "{\"a\": NaN}", "\xff\xfe", "{\"schema\": \"tandem.run/3\"} trailing"})
    EXPECT_THAT(problem_of(std::string(text)).where, HasSubstr("run.json")) << text;
  EXPECT_THAT(problem_of(std::string(200'000, '[')).where, HasSubstr("run.json"));
}

TEST(RunRecord, EveryCutIsRefused) {
  const std::string text = to_json(example_record());
  for (std::size_t end = 0; end + 1 < text.size(); end += 7) problem_of(text.substr(0, end));
}

TEST(RunRecord, SyntaxErrorsNameTheLine) {
  EXPECT_EQ(problem_of(std::string("{\n\"schema\": 1,\n oops}")).where, "run.json:3");
}

TEST(RunRecord, TheSameKeyTwiceIsRefused) {
  std::string text = to_json(example_record());
  text.insert(text.find("\"micro\""), "\"micro\": 8, ");
  const auto problem = problem_of(text);
  EXPECT_EQ(problem.what, "A file holds the same key twice.");
  EXPECT_EQ(problem.found, "\"micro\"");
}

TEST(RunRecord, FieldsThatContradictEachOtherAreRefused) {
  const std::vector<std::pair<std::string, std::function<void(RunRecord&)>>> cases = {
      {"world_size", [](RunRecord& r) { r.world_size = 0; }},
      {"hosts", [](RunRecord& r) { r.hosts[0].ranks = 3; }},
      {"batch.global", [](RunRecord& r) { r.batch.global = 17; }},
      {"batch.item", [](RunRecord& r) { r.batch.item = "apples"; }},
      {"batch.steps_per_epoch", [](RunRecord& r) { r.batch.steps_per_epoch = 0; }},
      {"reduction.grouping", [](RunRecord& r) { r.reduction.grouping = "naive"; }},
      {"reduction.schedule", [](RunRecord& r) { r.reduction.schedule = ""; }},
      {"reduction.update_order", [](RunRecord& r) { r.reduction.update_order = "late"; }},
      {"buckets[1].index", [](RunRecord& r) { r.buckets[1].index = 0; }},
      {"bucket_times.buckets", [](RunRecord& r) { r.bucket_times->buckets.pop_back(); }},
      {"bucket_times.peer_wait_ms", [](RunRecord& r) { r.bucket_times->peer_wait_ms.push_back(1.0); }},
      {"bucket_times.buckets[1].rank_median_ms",
       [](RunRecord& r) { r.bucket_times->buckets[1].rank_median_ms.clear(); }},
      {"timing", [](RunRecord& r) { r.timing.pop_back(); }},
      {"timing[1].rank", [](RunRecord& r) { r.timing[1].rank = 0; }},
      {"timing[0].forward_ms", [](RunRecord& r) { r.timing[0].forward_ms.pop_back(); }},
      {"timing[1].step_ms", [](RunRecord& r) { r.timing[1].step_ms.push_back(1.0); }},
      {"timing[0].recompute_ms", [](RunRecord& r) { r.timing[0].recompute_ms.pop_back(); }},
      {"timelines[0].ranks[0].recompute_begin_ms", [](RunRecord& r) { r.recomputed.pop_back(); }},
      {"timelines[0].ranks[1].recompute_end_ms",
       [](RunRecord& r) { r.timelines[0].ranks[1].recompute_end_ms.pop_back(); }},
      {"timelines[0].ranks[0].recompute_begin_ms[0]",
       [](RunRecord& r) { r.timelines[0].ranks[0].recompute_begin_ms[0] = 10.0; }},
      {"timelines[0].ranks[0].recompute_end_ms[1]",
       [](RunRecord& r) { r.timelines[0].ranks[0].recompute_end_ms[1] = 19.0; }},
      {"timelines[0].ranks[0].backward_end_ms[0]",
       [](RunRecord& r) { r.timelines[0].ranks[0].recompute_end_ms[1] = 31.5; }},
      {"epochs[1].steps", [](RunRecord& r) { r.epochs[1].steps = 3; }},
      {"epochs[0].steps",
       [](RunRecord& r) { r.epochs[0].first_step = std::numeric_limits<std::int64_t>::max(); }},
      {"epochs[0].wall_s", [](RunRecord& r) { r.epochs[0].eval_s = 1.0; }},
      {"control.segments[1].all_reduce", [](RunRecord& r) { r.control->segments[1].all_reduce = true; }},
      {"control.segments[0].step_ms", [](RunRecord& r) { r.control->segments[0].step_ms.pop_back(); }},
      {"control.segments[0].step_ms[0]",
       [](RunRecord& r) {
         r.control->segments[0].step_ms = {{}, {}};
       }},
      {"control.segments[2].exposed_ms[1]",
       [](RunRecord& r) { r.control->segments[2].exposed_ms[1].pop_back(); }},
      {"energy.rank_j", [](RunRecord& r) { r.energy->rank_j.pop_back(); }},
      {"peak.flops_per_s", [](RunRecord& r) { r.peak->flops_per_s = 0.0; }},
      {"epochs[0].training_energy_j", [](RunRecord& r) { r.epochs[0].training_energy_j = 49.0; }},
      {"bucket_times.buckets[0].rank_exposed_ms",
       [](RunRecord& r) { r.bucket_times->buckets[0].rank_exposed_ms.clear(); }},
      {"results.correct", [](RunRecord& r) { r.results->correct = 1001; }}};
  for (const auto& [path, change] : cases) {
    RunRecord run = example_record();
    change(run);
    EXPECT_EQ(problem_of(to_json(run)).where, "run.json: " + path);
  }
}

TEST(RunRecord, EveryFieldIsDocumented) {
  const std::string page = read_file(TANDEM_RUN_RECORD_PAGE);
  for_each_value(example_json(), Json::json_pointer(), [&](const Json::json_pointer& at, const Json&) {
    const bool is_element = std::isdigit(static_cast<unsigned char>(at.back().front())) != 0;
    if (is_element || is_map(at.parent_pointer())) return;
    EXPECT_THAT(page, HasSubstr("`" + at.back() + "`"));
  });
}

TEST(RunRecord, AMissingFileIsNamed) {
  try {
    read_run_record("/nowhere/run.json");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().where, "/nowhere/run.json");
  }
}

TEST(UtcTimestamp, IsIso8601) {
  using std::chrono::seconds;
  EXPECT_EQ(utc_timestamp(std::chrono::system_clock::time_point(seconds(1'740'832'496))),
            "2025-03-01T12:34:56Z");
}

}  // namespace
}  // namespace tandem
