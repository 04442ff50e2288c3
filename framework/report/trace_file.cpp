#include "report/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "report/json_fields.h"

namespace tandem {
namespace {

// A slice ends where it is not yet: an arrow at its end would not bind to it.
constexpr std::int64_t kInside = 1;  // ns

enum Lane { kCompute = 1, kCommunication = 2, kData = 3 };

struct Slice {
  std::string name;
  std::int64_t begin_ns, end_ns;
};

class TraceWriter {
 public:
  explicit TraceWriter(const RunRecord& run) : run_(run) {
    for (const auto& step : run.timelines) {
      for (const auto& rank : step.ranks)
        zero_ns_ = std::min({zero_ns_, to_ns(rank.begin_ms), to_ns(rank.begin_ms + rank.load_begin_ms)});
    }
  }

  Json write() {
    for (int rank = 0; rank < run_.world_size; ++rank) name_lanes(rank);
    for (std::size_t i = 0; i < run_.timelines.size(); ++i) {
      const auto& step = run_.timelines[i];
      for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        const bool last = i + 1 == run_.timelines.size();
        stop_before(last ? nullptr : &run_.timelines[i + 1].ranks[rank]);
        add_step(step.step, step.ranks[rank]);
      }
    }
    Json trace;
    trace["displayTimeUnit"] = "ms";
    trace["otherData"] = description();
    trace["traceEvents"] = std::move(events_);
    return trace;
  }

 private:
  static std::int64_t to_ns(double ms) { return std::llround(ms * 1e6); }
  std::int64_t unlimited(const RankStepRecord& rank, double ms) const {
    return to_ns(rank.begin_ms + ms) - zero_ns_;
  }
  std::int64_t at(const RankStepRecord& rank, double ms) const {
    return std::min(unlimited(rank, ms), end_ns_);
  }

  // Stamps are rounded, each relative to its own step: without this, the end of a step may come after the
  // beginning of the next.
  void stop_before(const RankStepRecord* next) {
    constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
    end_ns_ = next != nullptr ? unlimited(*next, 0.0) : kNever;
    load_end_ns_ = next != nullptr ? unlimited(*next, next->load_begin_ms) : kNever;
  }

  // Perfetto takes process 0 for the idle one, so ranks count from 1 here.
  Json event(const char* phase, std::string name, int rank, Lane lane) const {
    Json event;
    event["ph"] = phase;
    event["name"] = std::move(name);
    event["pid"] = rank + 1;
    event["tid"] = static_cast<int>(lane);
    return event;
  }

  void name_lanes(int rank) {
    const auto label = [&](const char* what, Lane lane, const char* key, Json value) {
      auto named = event("M", what, rank, lane);
      named["args"][key] = std::move(value);
      events_.push_back(std::move(named));
    };
    label("process_name", kCompute, "name", fmt::format("rank {}", rank));
    label("process_sort_index", kCompute, "sort_index", rank);
    for (const auto& [lane, name] :
         {std::pair{kCompute, "compute"}, {kCommunication, "communication"}, {kData, "data"}}) {
      label("thread_name", lane, "name", name);
      label("thread_sort_index", lane, "sort_index", static_cast<int>(lane));
    }
  }

  void add(const Slice& slice, int rank, Lane lane, Json arguments) {
    auto complete = event("X", slice.name, rank, lane);
    complete["cat"] = "step";
    complete["ts"] = static_cast<double>(slice.begin_ns) / 1e3;  // the format counts microseconds
    complete["dur"] = static_cast<double>(slice.end_ns - slice.begin_ns) / 1e3;
    complete["args"] = std::move(arguments);
    events_.push_back(std::move(complete));
  }

  void add_step(std::int64_t step, const RankStepRecord& rank) {
    const auto compute = [&](std::string name, double begin_ms, double end_ms) {
      add({std::move(name), at(rank, begin_ms), at(rank, end_ms)}, rank.rank, kCompute, {{"step", step}});
    };
    add({fmt::format("step {}", step), at(rank, 0.0), at(rank, rank.next_begin_ms)}, rank.rank, kCompute,
        {{"step", step}, {"clock_error_us", rank.clock_error_ms * 1e3}});
    add({"load batch", at(rank, rank.load_begin_ms), std::min(at(rank, rank.load_end_ms), load_end_ns_)},
        rank.rank, kData, {{"step", step}});
    compute("data wait", 0.0, rank.data_ready_ms);
    double last = rank.data_ready_ms;
    for (std::size_t i = 0; i < rank.forward_end_ms.size(); ++i) {
      compute("forward", last, rank.forward_end_ms[i]);
      compute("backward", rank.forward_end_ms[i], rank.backward_end_ms[i]);
      last = rank.backward_end_ms[i];
    }
    for (std::size_t i = 0; i < rank.recompute_begin_ms.size(); ++i)
      compute("recompute " + run_.recomputed[i % run_.recomputed.size()], rank.recompute_begin_ms[i],
              rank.recompute_end_ms[i]);
    compute("update", last, rank.end_ms);
    for (std::size_t bucket = 0; bucket < rank.ready_ms.size(); ++bucket) add_bucket(bucket, step, rank);
  }

  void add_bucket(std::size_t bucket, std::int64_t step, const RankStepRecord& rank) {
    const auto& of = run_.buckets[bucket];
    const Json arguments = {{"step", step},
                            {"bucket", of.index},
                            {"bytes", of.bytes},
                            {"first_parameter", of.first_parameter},
                            {"last_parameter", of.last_parameter}};
    const Slice reduction{fmt::format("all-reduce {}", bucket), at(rank, rank.reduce_begin_ms[bucket]),
                          at(rank, rank.reduce_end_ms[bucket])};
    add(reduction, rank.rank, kCommunication, arguments);
    const Slice wait{fmt::format("wait {}", bucket), at(rank, rank.wait_begin_ms[bucket]),
                     at(rank, rank.wait_end_ms[bucket])};
    add(wait, rank.rank, kCompute, arguments);
    const bool last = bucket + 1 == rank.ready_ms.size();
    const Slice optimizer{
        run_.reduction.update_order == "gated" ? "optimizer" : fmt::format("optimizer {}", bucket),
        wait.end_ns, at(rank, last ? rank.end_ms : rank.wait_begin_ms[bucket + 1])};
    const bool updates = run_.reduction.update_order != "gated" || last;
    if (updates) add(optimizer, rank.rank, kCompute, arguments);
    // An all-reduce of no length has nothing that an arrow could bind to.
    if (reduction.end_ns == reduction.begin_ns) return;
    const auto inside = [&](double ms, double begin_ms, double end_ms) {
      return std::clamp(at(rank, ms), at(rank, begin_ms), at(rank, end_ms) - kInside);
    };
    const auto backward_begin = rank.forward_end_ms.back(), backward_end = rank.backward_end_ms.back();
    if (at(rank, backward_end) == at(rank, backward_begin) || at(rank, rank.end_ms) == at(rank, backward_end))
      return;
    const auto arrow = flows_++;
    add_arrow("s", arrow, rank.rank, kCompute, inside(rank.ready_ms[bucket], backward_begin, backward_end));
    add_arrow("t", arrow, rank.rank, kCommunication, reduction.begin_ns);
    add_arrow("f", arrow, rank.rank, kCompute, inside(rank.wait_end_ms[bucket], backward_end, rank.end_ms));
  }

  void add_arrow(const char* phase, std::int64_t id, int rank, Lane lane, std::int64_t ns) {
    auto arrow = event(phase, "gradient", rank, lane);
    arrow["cat"] = "gradient";
    arrow["id"] = id;
    arrow["ts"] = static_cast<double>(ns) / 1e3;
    if (*phase == 'f') arrow["bp"] = "e";  // else it would bind to the slice after it
    events_.push_back(std::move(arrow));
  }

  Json description() const {
    double error_ms = 0.0;
    for (const auto& step : run_.timelines) {
      for (const auto& rank : step.ranks) error_ms = std::max(error_ms, rank.clock_error_ms);
    }
    return {
        {"run", run_.name},
        {"started", run_.started},
        {"command_line", run_.command_line},
        {"program", run_.program.version + " " + run_.program.git},
        {"clock",
         "Each rank's stamps are events on its streams, related to its host's steady clock by waiting once "
         "for an event at the start of an epoch. Hosts' clocks are related to rank 0's by barriers after "
         "the run: the moment at which the last rank arrives lies between arrival and departure on every "
         "clock; ranks of rank 0's host share its clock. clock_error_us is the bound that follows, without "
         "drift of the clocks in between."},
        {"largest_clock_error_us", error_ms * 1e3}};
  }

  const RunRecord& run_;
  std::int64_t zero_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = 0;       // of what belongs to the step that is being added
  std::int64_t load_end_ns_ = 0;  // of the load of its batch
  std::int64_t flows_ = 0;
  Json events_ = Json::array();
};

}  // namespace

std::string chrome_trace(const RunRecord& run) {
  const auto trace = TraceWriter(run).write();
  std::string text = "{";
  for (const auto* key : {"displayTimeUnit", "otherData"})
    text +=
        fmt::format("\"{}\": {},\n", key, trace[key].dump(-1, ' ', false, Json::error_handler_t::replace));
  text += "\"traceEvents\": [";
  const char* separator = "\n";
  for (const auto& event : trace["traceEvents"]) {
    text += separator + event.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace tandem
