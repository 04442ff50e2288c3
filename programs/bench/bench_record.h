// What `launcher bench` measures: one run of the ranks over one link, and all runs together.
//
// Plain values with JSON forms, strict as all files of this project. Times are microseconds, bandwidths 1e9
// bytes per second. Sizes and bandwidths are those of nccl-tests' PERFORMANCE.md: `bytes` is the whole buffer
// (for reduce-scatter and all-gather the pieces of all ranks together), algorithm bandwidth is bytes / time,
// bus bandwidth is that times 2 (n-1) / n for all-reduce and (n-1) / n for the other two.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.h"
#include "report/statistics.h"

namespace tandem {

// One collective of one size, in place, fp32 sums.
struct BenchPoint {
  std::string collective;  // "all_reduce", "reduce_scatter", "all_gather"
  std::int64_t bytes = 0;
  int iterations = 0;      // that the time is the mean of
  double time_us = 0.0;    // mean over iterations enqueued one behind the other, and over ranks
  std::int64_t wrong = 0;  // elements that were not exact, over all ranks, in a call of its own
  bool operator==(const BenchPoint&) const = default;
};

// Messages between two ranks with all others waiting.
struct BenchPair {
  int from = 0;
  int to = 0;
  double latency_us = 0.0;      // half of the round trip of 8 bytes
  double gb_per_s = 0.0;        // large messages from `from` to `to`
  double both_gb_per_s = 0.0;   // both directions at once, summed
  double messages_per_s = 0.0;  // 8 bytes each, many on their way at once
  bool operator==(const BenchPair&) const = default;
};

struct BenchRun {
  static constexpr const char* kSchema = "tandem.bench_run/1";

  std::string transport;    // found, not asked for: see docs/measuring.md
  std::string description;  // what carries the bytes, in the communicator's words
  std::string device;
  int ranks = 1;
  std::map<std::string, std::string> versions;
  double latency_us = 0.0;  // one all-reduce of 8 bytes that nothing else waits behind: median
  double rate_per_s = 0.0;  // all-reduces of 8 bytes, enqueued one behind the other
  std::vector<BenchPoint> points;
  std::vector<BenchPair> pairs;  // empty where only collectives reach the link
  bool operator==(const BenchRun&) const = default;
};

// A line through the points of one collective: latency + bus bytes / bandwidth, in the sense of LinkModel
// (comm/collective_cost.h), which predictions take it as.
struct AlphaBeta {
  std::string collective;
  double latency_us = 0.0;
  double bus_gb_per_s = 0.0;
  double worst_error = 0.0;  // of the line at any point, as a share of the time there
  bool operator==(const AlphaBeta&) const = default;
};

struct BenchLinkPoint {
  std::string collective;
  std::int64_t bytes = 0;
  Spread time_us;  // over repeats
  double algorithm_gb_per_s = 0.0;
  double bus_gb_per_s = 0.0;
  std::int64_t wrong = 0;
  bool operator==(const BenchLinkPoint&) const = default;
};

struct BenchLink {
  std::string label;  // "tcp", "nvlink comm.max_ctas=4"
  std::vector<std::string> overrides;
  std::string transport;
  std::string description;
  int repeats = 0;
  Spread latency_us;
  Spread rate_per_s;
  double aggregate_gb_per_s = 0.0;  // bus bandwidth of the largest all-reduce, all ranks together
  std::vector<BenchLinkPoint> points;
  std::vector<BenchPair> pairs;  // medians
  std::vector<AlphaBeta> fits;
  bool operator==(const BenchLink&) const = default;
};

struct BenchResult {
  static constexpr const char* kSchema = "tandem.bench/1";

  std::string started;  // UTC
  std::string host;
  std::string device;
  int ranks = 1;
  std::map<std::string, std::string> versions;
  std::vector<BenchLink> links;
  std::vector<PeerTest> gpu_pairs;  // copies between GPUs, by copy engine and by kernel
  bool operator==(const BenchResult&) const = default;
};

std::string to_json(const BenchRun& run);
std::string to_json(const BenchResult& result);
BenchRun read_bench_run(const std::filesystem::path& path);
BenchResult read_bench_result(const std::filesystem::path& path);

// Bus bytes per byte of a collective: 2 (n-1) / n or (n-1) / n. Throws Error for another word.
double bus_factor(std::string_view collective, int ranks);

// Medians over the repeats of one link, which measured the same points. Throws Error if there are none.
BenchLink merge_repeats(const std::string& label, const std::vector<std::string>& overrides,
                        const std::vector<BenchRun>& repeats);

// The line with the least squared relative error, neither of its numbers below 0; one per collective that has
// at least two sizes.
std::vector<AlphaBeta> fit_lines(const std::vector<BenchLinkPoint>& points, int ranks);

}  // namespace tandem
