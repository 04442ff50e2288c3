// What a sweep over config keys found: one point per combination of values, and the best with its noise.
//
// Plain values and pure functions of run records. The quantity that ranks points is training throughput,
// since it stays comparable when a key changes the batch: items per step / mean step time, of the slowest
// rank and over the steps after warm-up; over the epochs' time where steps were not timed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/paired_difference.h"
#include "report/run_record.h"
#include "report/text_table.h"

namespace tandem {

// What goes in: one point and its runs by round; none where a round has not run it, or its run failed.
struct SweptPoint {
  std::vector<std::string> values;  // of SweepResult::keys, in their order
  std::vector<std::optional<RunRecord>> rounds;
  std::string failure;  // why it has no run: "exit status 2"; empty otherwise
};

struct SweepPoint {
  std::vector<std::string> values;
  int repeats = 0;  // finished ones; without any, nothing below has a value
  std::string failure;
  std::string transport_found;
  std::vector<std::string> caveats;
  std::optional<Spread> items_per_s;  // over repeats, as the following
  std::optional<Spread> step_ms;
  std::optional<Spread> exposed_share;
  std::optional<Spread> overlap_ratio;
  // Throughput of this point / of the best, over the rounds that ran both; none for the best itself.
  std::optional<PairedDifference> to_best;
  bool operator==(const SweepPoint&) const = default;
};

struct SweepResult {
  static constexpr const char* kSchema = "tandem.sweep/1";

  std::vector<std::string> keys;  // "comm.bucket_mb", …
  std::string model;
  std::string item;  // "images" or "tokens"
  int world_size = 1;
  std::vector<HostRecord> hosts;
  int planned_repeats = 1;
  std::vector<SweepPoint> points;  // in the order of the grid, the last key fastest
  std::optional<int> best;         // index of the point with the highest median throughput
  bool operator==(const SweepResult&) const = default;
};

// Throws InputError if no point has a run, or if throughputs count different things.
SweepResult build_sweep(const std::vector<std::string>& keys, const std::vector<SweptPoint>& points,
                        int planned_repeats);

// Training throughput of a run, as above; none if it has neither timed steps nor epochs.
std::optional<double> training_items_per_s(const RunRecord& run);

// "comm.bucket_mb=4 comm.max_ctas=2"
std::string point_label(const std::vector<std::string>& keys, const std::vector<std::string>& values);

TextTable sweep_table(const SweepResult& result);      // for reading
TextTable sweep_csv_table(const SweepResult& result);  // one number per cell

// Which point is the best, and what is as good within the noise. Markdown, with a line feed. REQUIRES best.
std::string sweep_conclusion(const SweepResult& result);

// The table, a chart of bars, and the conclusion.
std::string sweep_markdown(const SweepResult& result);

std::string to_json(const SweepResult& result);
SweepResult sweep_from_json(std::string_view text, const std::string& file);     // strict, as run records
void write_sweep(const SweepResult& result, const std::filesystem::path& path);  // atomically

}  // namespace tandem
