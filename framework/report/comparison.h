// Runs of one program over several links, side by side: what `launcher compare` shows.
//
// Plain values and pure functions. The rows may only differ in their link and their schedule;
// build_comparison() checks it. A row whose schedule is not that of the first row says so among its caveats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/conclusions.h"
#include "report/contention.h"
#include "report/paired_difference.h"
#include "report/run_record.h"

namespace tandem {

// What goes in: one link and its repeats.
struct ComparedLink {
  std::string label;
  std::string asked;
  std::vector<RunRecord> repeats;  // at least one
  bool in_rounds = false;          // repeat i of all links ran in one round, so that they can be paired
};

// One of the disjoint parts of the step: its mean over the measured steps of all ranks.
struct PartOfStep {
  std::string part;
  Spread ms;  // over repeats
  bool operator==(const PartOfStep&) const = default;
};

struct CompareRow {
  std::string label;
  std::string asked;
  std::string transport_found;  // of all repeats, joined by " / " where they differ
  std::vector<std::string> caveats;
  int repeats = 0;
  Spread epoch_s;                       // over repeats; of each, the median of its representative epochs
  std::optional<Spread> items_per_s;    // likewise, without evaluation and checkpoints
  std::optional<Spread> exposed_share;  // communication share, exposed
  std::optional<Spread> busy_share;     // communication share, busy
  std::optional<Spread> overlap_ratio;
  std::int64_t bytes_per_step = 0;
  std::optional<Spread> bus_gb_per_s_in_training;
  std::optional<Spread> bus_gb_per_s_standalone;
  // Epoch time of the slowest row / epoch time of this row. The median is of medians; the range is the widest
  // that the repeats of both rows allow: slowest.min / row.max to slowest.max / row.min.
  Spread speedup;
  // The same from pairs: epoch time of the slowest row / of this row, over the rounds that ran both. None for
  // the slowest row itself and where runs are not of one interleaved comparison.
  std::optional<PairedDifference> paired_speedup;
  // From the control segments of all repeats as one; none unless all repeats made a control run.
  std::optional<ContentionSummary> control;
  std::string machine;                     // where rows are from several machines; else empty
  std::string command_line;                // of the first repeat
  std::vector<PartOfStep> parts;           // in the order of the step; those that all repeats measured
  std::vector<AllReduceTime> all_reduces;  // by bucket, means over repeats; empty unless all measured them
  std::vector<Conclusion> conclusions;     // of the repeat with the median epoch time
  bool operator==(const CompareRow&) const = default;
};

// The accuracy run: a run of its own, whose times are in no row.
struct AccuracyRecord {
  std::string run;
  std::string link;
  int epochs = 0;
  std::int64_t correct = 0;
  std::int64_t total = 0;
  bool operator==(const AccuracyRecord&) const = default;
};

struct CompareResult {
  static constexpr const char* kSchema = "tandem.compare/3";
  static constexpr const char* kOldSchemas[] = {"tandem.compare/1", "tandem.compare/2"};

  ModelRecord model;
  BatchRecord batch;
  ReductionRecord reduction;  // of the first row
  int world_size = 1;
  int ranks_in_all_reduce = 1;  // the emulated ones where there are such
  std::vector<HostRecord> hosts;
  std::vector<HostTopologyRecord> topology;  // of the first run
  std::string started;                       // with the next three, of the first run
  ProgramRecord program;
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> environment;
  std::string command_line;  // of the launcher that made it; empty if made of records later
  std::string slowest;       // label of the row with the longest median epoch time, the base of every speedup
  std::vector<CompareRow> rows;
  std::optional<AccuracyRecord> accuracy;
  std::map<std::string, Spread> clocks_mhz;  // by device, before and after the runs; empty if not known
  bool operator==(const CompareResult&) const = default;
};

// Throws InputError naming the runs and the field if two runs differ in model, batch, reduction (but for the
// schedule of different rows), world size or steps and items per epoch, and if a link has no repeat or a
// repeat no epoch. `accuracy`, if given, must
// have results. Hosts may differ: then each row names its machine.
CompareResult build_comparison(const std::vector<ComparedLink>& links,
                               const std::optional<RunRecord>& accuracy = std::nullopt);

// The repeat whose epoch time is the median; of an even number, the faster of the two in the middle. What is
// shown of one run stands for its row. REQUIRES a repeat.
const RunRecord& median_repeat(const ComparedLink& link);

std::string to_json(const CompareResult& result);
CompareResult comparison_from_json(std::string_view text,
                                   const std::string& file);  // strict, as run records; reads old ones too
CompareResult read_comparison(const std::filesystem::path& path);
void write_comparison(const CompareResult& result, const std::filesystem::path& path);  // atomically

}  // namespace tandem
