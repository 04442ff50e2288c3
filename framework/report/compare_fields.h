// The fields of every struct in a comparison, in the order of the file. Internal to this library.
#pragma once

#include <array>
#include <utility>

#include "report/comparison.h"
#include "report/record_fields.h"
#include "report/topology_fields.h"

namespace tandem {

template <>
struct JsonForm<Limit> {
  static constexpr std::array<std::pair<Limit, const char*>, 7> kWords = {
      {{Limit::Communication, "communication"},
       {Limit::Latency, "latency"},
       {Limit::Data, "data"},
       {Limit::Contention, "contention"},
       {Limit::Straggler, "straggler"},
       {Limit::Launch, "launch"},
       {Limit::Compute, "compute"}}};
  static Json write(Limit limit) {
    for (const auto& [value, word] : kWords)
      if (value == limit) return word;
    return nullptr;
  }
  static void read(const JsonPlace& place, Limit& limit) {
    std::string found;
    JsonForm<std::string>::read(place, found);
    for (const auto& [value, word] : kWords) {
      if (found != word) continue;
      limit = value;
      return;
    }
    place.fail("There is no such limit.",
               "communication, latency, data, contention, straggler, launch or compute");
  }
};

template <class Visitor, SameAs<Conclusion> T>
void visit_fields(Visitor&& field, T& x) {
  field("limit", x.limit);
  field("share", x.share);
  field("title", x.title);
  field("finding", x.finding);
  field("advice", x.advice);
}

template <class Visitor, SameAs<AllReduceTime> T>
void visit_fields(Visitor&& field, T& x) {
  field("bytes", x.bytes);
  field("wire_ms", x.wire_ms);
}

template <class Visitor, SameAs<PartOfStep> T>
void visit_fields(Visitor&& field, T& x) {
  field("part", x.part);
  field("ms", x.ms);
}

template <class Visitor, SameAs<ContentionSummary> T>
void visit_fields(Visitor&& field, T& x) {
  field("pairs", x.pairs);
  field("steps", x.steps);
  field("step_on_ms", x.step_on_ms);
  field("step_off_ms", x.step_off_ms);
  field("comm_cost_ms", x.comm_cost_ms);
  field("exposed_ms", x.exposed_ms);
  field("contention_ms", x.contention_ms);
  field("skew_cost_ms", x.skew_cost_ms);
}

template <class Visitor, SameAs<CompareRow> T>
void visit_fields(Visitor&& field, T& x) {
  field("label", x.label);
  field("asked", x.asked);
  field("transport_found", x.transport_found);
  field("caveats", x.caveats);
  field("repeats", x.repeats);
  field("epoch_s", x.epoch_s);
  field("items_per_s", x.items_per_s);
  field("exposed_share", x.exposed_share);
  field("busy_share", x.busy_share);
  field("overlap_ratio", x.overlap_ratio);
  field("bytes_per_step", x.bytes_per_step);
  field("bus_gb_per_s_in_training", x.bus_gb_per_s_in_training);
  field("bus_gb_per_s_standalone", x.bus_gb_per_s_standalone);
  field("speedup", x.speedup);
  field("paired_speedup", x.paired_speedup);
  field("control", x.control);
  field("machine", x.machine);
  field("command_line", x.command_line);
  field("parts", x.parts);
  field("all_reduces", x.all_reduces);
  field("conclusions", x.conclusions);
}

template <class Visitor, SameAs<AccuracyRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("run", x.run);
  field("link", x.link);
  field("epochs", x.epochs);
  field("correct", x.correct);
  field("total", x.total);
}

template <class Visitor, SameAs<CompareResult> T>
void visit_fields(Visitor&& field, T& x) {
  field("model", x.model);
  field("batch", x.batch);
  field("reduction", x.reduction);
  field("world_size", x.world_size);
  field("ranks_in_all_reduce", x.ranks_in_all_reduce);
  field("hosts", x.hosts);
  field("topology", x.topology);
  field("started", x.started);
  field("program", x.program);
  field("versions", x.versions);
  field("environment", x.environment);
  field("command_line", x.command_line);
  field("slowest", x.slowest);
  field("rows", x.rows);
  field("accuracy", x.accuracy);
  field("clocks_mhz", x.clocks_mhz);
}

}  // namespace tandem
