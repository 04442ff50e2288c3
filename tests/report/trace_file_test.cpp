#include "report/trace_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "report/example_record.h"
#include "support/trace_check.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

Json events_of(const RunRecord& run) {
  return Json::parse(chrome_trace(run))["traceEvents"];
}

// The events of a lane with this phase, "name begin-end" in microseconds; arrows have no end.
std::vector<std::string> lane(const Json& events, const std::string& phase, int pid, int tid) {
  std::vector<std::string> found;
  for (const auto& event : events) {
    if (event["ph"] != phase || event["pid"] != pid || event["tid"] != tid) continue;
    const double begin_us = event["ts"];
    auto text = fmt::format("{} {}", event["name"].get<std::string>(), begin_us);
    if (event.contains("dur")) text += fmt::format("-{}", begin_us + event["dur"].get<double>());
    found.push_back(text);
  }
  return found;
}

TEST(TraceFile, IsATrace) {
  EXPECT_NO_THROW(TraceCheck::check(chrome_trace(example_record())));
}

// The example's batches are loaded 3 ms before rank 0's step begins: that is time 0.
TEST(TraceFile, HasALaneForEachStreamAndTheLoader) {
  const auto events = events_of(example_record());
  EXPECT_EQ(
      lane(events, "X", 1, 1),
      (std::vector<std::string>{"step 2 3000-43000", "data wait 3000-4000", "forward 4000-14000",
                                "backward 14000-34000", "recompute s2 14000-17000",
                                "recompute stem 23000-25000", "update 34000-41000", "wait 0 34000-34000",
                                "optimizer 0 34000-36000", "wait 1 36000-39000", "optimizer 1 39000-41000"}));
  EXPECT_EQ(lane(events, "X", 1, 2),
            (std::vector<std::string>{"all-reduce 0 21500-33000", "all-reduce 1 34500-39000"}));
  EXPECT_EQ(lane(events, "X", 1, 3), (std::vector<std::string>{"load batch 0-3800"}));
  EXPECT_EQ(lane(events, "X", 2, 2).front(), "all-reduce 0 23000-33500");
}

TEST(TraceFile, LeadsFromAGradientToItsAllReduceAndItsUpdate) {
  const auto events = events_of(example_record());
  // The last gradient is written when backward ends: a nanosecond earlier it is still inside.
  EXPECT_EQ(lane(events, "s", 1, 1), (std::vector<std::string>{"gradient 21000", "gradient 33999.999"}));
  EXPECT_EQ(lane(events, "t", 1, 2), (std::vector<std::string>{"gradient 21500", "gradient 34500"}));
  EXPECT_EQ(lane(events, "f", 1, 1), (std::vector<std::string>{"gradient 34000", "gradient 39000"}));
}

TEST(TraceFile, UpdatesOnceWhereTheUpdateIsGated) {
  auto run = example_record();
  run.reduction.update_order = "gated";
  for (auto& rank : run.timelines.front().ranks) rank.wait_begin_ms[1] = rank.wait_end_ms[0];
  const auto text = chrome_trace(run);
  EXPECT_NO_THROW(TraceCheck::check(text));
  const auto compute = lane(Json::parse(text)["traceEvents"], "X", 1, 1);
  EXPECT_EQ(std::count(compute.begin(), compute.end(), "optimizer 39000-41000"), 1);
  EXPECT_EQ(compute.size(), 10u);
}

TEST(TraceFile, SaysHowFarLanesOfRanksMayStandApart) {
  const auto trace = Json::parse(chrome_trace(example_record()));
  EXPECT_EQ(trace["otherData"]["largest_clock_error_us"], 50.0);
  EXPECT_FALSE(trace["otherData"]["clock"].get<std::string>().empty());
}

TEST(TraceFile, OfARankAloneHasNoArrows) {
  auto run = example_record();
  for (auto& rank : run.timelines.front().ranks)
    rank.ready_ms = rank.reduce_begin_ms = rank.reduce_end_ms = rank.wait_begin_ms = rank.wait_end_ms = {};
  const auto text = chrome_trace(run);
  EXPECT_NO_THROW(TraceCheck::check(text));
  EXPECT_EQ(text.find("gradient"), std::string::npos);
}

// Work of no length, and work without pauses.
TEST(TraceFile, IsATraceWhateverTheStamps) {
  auto run = example_record();
  for (auto& rank : run.timelines.front().ranks) {
    rank.reduce_end_ms = rank.reduce_begin_ms;
    rank.wait_end_ms = rank.wait_begin_ms;
  }
  EXPECT_NO_THROW(TraceCheck::check(chrome_trace(run)));
  for (auto& rank : run.timelines.front().ranks) {
    rank.end_ms = rank.backward_end_ms.back();
    rank.wait_begin_ms = rank.wait_end_ms = {rank.end_ms, rank.end_ms};
    rank.next_begin_ms = rank.end_ms;
  }
  EXPECT_NO_THROW(TraceCheck::check(chrome_trace(run)));
  run.timelines.clear();
  EXPECT_NO_THROW(TraceCheck::check(chrome_trace(run)));
}

// Both ends are rounded, each relative to its own step.
TEST(TraceFile, EndsAStepWhereTheNextOneBegins) {
  auto run = example_record();
  run.timelines.push_back(run.timelines.front());
  const auto& first = run.timelines[0].ranks;
  ++run.timelines[1].step;
  for (std::size_t rank = 0; rank < first.size(); ++rank) {
    auto& next = run.timelines[1].ranks[rank];
    next.begin_ms += first[rank].next_begin_ms - 0.0002;
    next.load_begin_ms = first[rank].load_end_ms - 0.0002 - (next.begin_ms - first[rank].begin_ms);
  }
  const auto trace = chrome_trace(run);
  EXPECT_NO_THROW(TraceCheck::check(trace));
  EXPECT_EQ(lane(events_of(run), "X", 1, 1).front(), "step 2 3000-42999.8");
  EXPECT_EQ(lane(events_of(run), "X", 1, 3).front(), "load batch 0-3799.8");
}

// The checker itself can fail.
TEST(TraceCheck, RefusesWhatIsNoTrace) {
  const auto good = Json::parse(chrome_trace(example_record()));
  const auto refuses = [&](const std::function<void(Json & events)>& spoil) {
    auto bad = good;
    spoil(bad["traceEvents"]);
    EXPECT_THROW(TraceCheck::check(bad.dump()), std::runtime_error);
  };
  const auto first = [](Json& events, const std::string& phase) -> Json& {
    return *std::find_if(events.begin(), events.end(), [&](const Json& e) { return e["ph"] == phase; });
  };
  refuses([&](Json& events) { first(events, "X")["ts"] = -1; });
  refuses([&](Json& events) { first(events, "X")["dur"] = "1"; });
  refuses([&](Json& events) { first(events, "X")["dur"] = 1500; });  // its parts stick out
  refuses([&](Json& events) { first(events, "X").erase("name"); });
  refuses([&](Json& events) { first(events, "X")["tid"] = 9; });
  refuses([&](Json& events) { first(events, "M")["name"] = "proces_name"; });
  refuses([&](Json& events) { first(events, "f").erase("bp"); });
  refuses([&](Json& events) { first(events, "t")["id"] = 77; });
  refuses([&](Json& events) { first(events, "t")["ts"] = 100000; });  // in no slice
  refuses([&](Json& events) { first(events, "s")["ts"] = 34100; });   // after its all-reduce began
}

}  // namespace
}  // namespace tandem
