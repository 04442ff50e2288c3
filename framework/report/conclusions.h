// What limits a run, in words, by rule: the finding with the numbers behind it, and what to try.
//
// Pure functions of a run record. Each rule compares one cost with the step and speaks from a threshold on,
// so a run may have several limits, largest first; one that has none is bound by compute. docs/measuring.md
// has the rules for users. All times are means over the measured steps of all ranks, in milliseconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/link_fit.h"
#include "report/run_record.h"

namespace tandem {

enum class Limit { Communication, Latency, Data, Contention, Straggler, Launch, Compute };

struct Conclusion {
  Limit limit = Limit::Compute;
  double share = 0.0;  // of the step that this costs; of Compute: what compute takes
  std::string title;   // "Latency bound"
  std::string finding;
  std::vector<std::string> advice;  // what to try, most promising first
  bool operator==(const Conclusion&) const = default;
};

// From these shares of the step on, a cost is worth a word.
inline constexpr double kCommunicationLimit = 0.10;  // exposed, without waiting for late peers
inline constexpr double kDataLimit = 0.05;
inline constexpr double kContentionLimit = 0.05;
inline constexpr double kStragglerLimit = 0.05;
inline constexpr double kLaunchLimit = 0.10;
// Of the wire time: from here on latency, not bytes, is what exposed communication consists of.
inline constexpr double kLatencyPart = 0.5;

// What the rules look at.
struct LimitFacts {
  double step_ms = 0.0;
  std::optional<double> data_wait_ms;
  double compute_ms = 0.0;  // forward, backward and optimizer
  double backward_ms = 0.0;
  std::optional<double> exposed_ms;
  double other_ms = 0.0;
  std::vector<double> rank_compute_ms;  // forward and backward, by rank

  int buckets = 0;
  std::int64_t bytes = 0;            // reduced per step
  std::optional<double> latency_ms;  // t_min: what an all-reduce takes whatever its size
  std::optional<double> wire_ms;     // per step, all buckets
  std::vector<double> peer_wait_ms;  // per step, by rank
  std::optional<double> bus_gb_per_s_in_training;
  std::optional<double> bus_gb_per_s_standalone;

  std::optional<double> contention_ms;        // per step
  std::optional<double> contention_noise_ms;  // half the width of its range

  bool on_gpu = false;
  ReductionRecord reduction;
  std::string item;                           // "images"
  std::map<std::string, std::string> config;  // config_values()
};

// By bucket; empty if they were not measured.
std::vector<AllReduceTime> all_reduce_times(const RunRecord& run);

// None if the steps of the run were not measured.
std::optional<LimitFacts> limit_facts(const RunRecord& run);

// Largest share first; never empty. A cost that was not measured raises no limit.
std::vector<Conclusion> conclude(const LimitFacts& facts);

// Of a run without measured steps: nothing.
std::vector<Conclusion> conclusions_of(const RunRecord& run);

std::string headline_of(const Conclusion& conclusion);  // "Latency bound (31.2 % of the step)"

// "- **Latency bound (31.2 % of the step).** 40 buckets × …" with the advice as a list below each.
std::string conclusions_markdown(const std::vector<Conclusion>& conclusions);

}  // namespace tandem
