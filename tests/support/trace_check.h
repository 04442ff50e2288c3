// Whether a text is a trace as Chrome's Trace Event Format has it, as far as Tandem uses it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

// Throws std::runtime_error at the first thing that is not as it must be: fields that are missing, unknown or
// of the wrong type, times below 0, slices of a lane that overlap without one lying in the other, lanes
// without a name, and arrows without exactly a begin, a step and an end, in the order of time, each in a
// slice.
class TraceCheck {
 public:
  using Json = nlohmann::json;

  static void check(std::string_view text) { TraceCheck(Json::parse(text)).run(); }

 private:
  using Lane = std::pair<std::int64_t, std::int64_t>;  // process, thread
  struct Slice {
    std::int64_t begin_ns, end_ns;
  };

  explicit TraceCheck(Json trace) : trace_(std::move(trace)) {}

  [[noreturn]] static void fail(const char* what, const Json& where) {
    throw std::runtime_error(fmt::format("{}: {}", what, where.dump()));
  }
  static void require(bool holds, const char* what, const Json& where) {
    if (!holds) fail(what, where);
  }

  void run() {
    require(trace_.is_object() && trace_.contains("traceEvents") && trace_["traceEvents"].is_array(),
            "not the object form", trace_);
    for (const auto& [key, value] : trace_.items())
      require(key == "traceEvents" || key == "displayTimeUnit" || key == "otherData", "unknown field", key);
    require(trace_.value("displayTimeUnit", "") == "ms", "displayTimeUnit", trace_["displayTimeUnit"]);
    for (const auto& event : trace_["traceEvents"]) take(event);
    for (auto& [lane, slices] : slices_) check_nesting(lane, slices);
    for (const auto& [id, arrow] : arrows_) check_arrow(arrow);
  }

  static void expect_fields(const Json& event, const std::set<std::string>& fields) {
    for (const auto& field : fields) require(event.contains(field), field.c_str(), event);
    for (const auto& [key, value] : event.items()) require(fields.count(key) == 1, "unknown field", event);
  }

  static std::int64_t ns(const Json& event, const char* field) {
    require(event[field].is_number(), "a time must be a number", event);
    const double us = event[field];
    require(std::isfinite(us) && us >= 0.0, "a time must be at least 0", event);
    return std::llround(us * 1e3);
  }

  void take(const Json& event) {
    require(event.is_object() && event.contains("ph") && event["ph"].is_string(), "no phase", event);
    const std::string phase = event["ph"];
    if (phase == "M") {
      expect_fields(event, {"ph", "name", "pid", "tid", "args"});
    } else if (phase == "X") {
      expect_fields(event, {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"});
    } else if (phase == "s" || phase == "t") {
      expect_fields(event, {"ph", "name", "cat", "pid", "tid", "ts", "id"});
    } else if (phase == "f") {
      expect_fields(event, {"ph", "name", "cat", "pid", "tid", "ts", "id", "bp"});
      require(event["bp"] == "e", "an arrow must end in the slice around it", event);
    } else {
      fail("unknown phase", event);
    }
    require(event["name"].is_string() && event["name"] != "", "no name", event);
    require(event["pid"].is_number_integer() && event["tid"].is_number_integer(), "no lane", event);
    if (event.contains("args")) require(event["args"].is_object(), "arguments", event);
    const Lane lane{event["pid"], event["tid"]};
    if (phase == "M") {
      take_label(event, lane);
      return;
    }
    require(event["cat"].is_string(), "no category", event);
    require(named_.count(lane) == 1, "a lane without a name", event);
    if (phase == "X")
      slices_[lane].push_back({ns(event, "ts"), ns(event, "ts") + ns(event, "dur")});
    else
      arrows_[event["id"].get<std::int64_t>()].push_back(event);
  }

  void take_label(const Json& event, Lane lane) {
    const std::string name = event["name"];
    const bool is_name = name == "process_name" || name == "thread_name";
    const bool is_order = name == "process_sort_index" || name == "thread_sort_index";
    require(is_name || is_order, "unknown label", event);
    const auto* key = is_name ? "name" : "sort_index";
    require(event["args"].size() == 1 && event["args"].contains(key), "label", event);
    require(is_name ? event["args"][key].is_string() : event["args"][key].is_number_integer(), "label",
            event);
    if (name == "thread_name") named_.insert(lane);
  }

  static void check_nesting(Lane lane, std::vector<Slice>& slices) {
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.begin_ns, -a.end_ns) < std::pair(b.begin_ns, -b.end_ns);
    });
    std::vector<Slice> open;
    for (const auto& slice : slices) {
      while (!open.empty() && open.back().end_ns <= slice.begin_ns) open.pop_back();
      require(open.empty() || slice.end_ns <= open.back().end_ns, "slices overlap",
              {lane.first, lane.second, slice.begin_ns, slice.end_ns});
      open.push_back(slice);
    }
  }

  void check_arrow(const std::vector<Json>& arrow) const {
    constexpr std::array phases{"s", "t", "f"};
    require(arrow.size() == phases.size(), "an arrow has three points", arrow);
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const auto& point = arrow[i];
      require(point["ph"] == phases[i], "an arrow begins, passes and ends", arrow);
      require(i == 0 || ns(arrow[i - 1], "ts") <= ns(point, "ts"), "an arrow goes back in time", arrow);
      require(i == 0 || (point["name"] == arrow[0]["name"] && point["cat"] == arrow[0]["cat"]),
              "an arrow's points have one name and category", arrow);
      const auto slices = slices_.find({point["pid"], point["tid"]});
      const auto time = ns(point, "ts");
      require(slices != slices_.end() &&
                  std::any_of(slices->second.begin(), slices->second.end(),
                              [&](const Slice& s) { return s.begin_ns <= time && time < s.end_ns; }),
              "an arrow's point lies in no slice", point);
    }
  }

  const Json trace_;
  std::set<Lane> named_;
  std::map<Lane, std::vector<Slice>> slices_;
  std::map<std::int64_t, std::vector<Json>> arrows_;
};

}  // namespace tandem
