// Runs of one program on different numbers of ranks, side by side.
//
// Two questions that never share a name: "what do more ranks give, each with the same work" (weak efficiency)
// and "how much faster is the same work done by more ranks" (strong speedup). Which of them a set of runs
// answers follows from their batches. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/run_record.h"
#include "report/statistics.h"
#include "report/text_table.h"

namespace tandem {

enum class ScalingKind {
  Weak,    // the same batch per rank
  Strong,  // the same global batch
};

struct ScalingRow {
  std::string label;  // of the link
  std::string transport_found;
  std::vector<std::string> caveats;
  int ranks = 1;
  int global_batch = 1;
  int repeats = 0;
  Spread items_per_s;
  std::optional<Spread> exposed_share;
  Spread ratio;  // weak efficiency or strong speedup; the range is the widest that the repeats of row and
                 // base allow
};

struct ScalingResult {
  ScalingKind kind = ScalingKind::Weak;
  ModelRecord model;
  std::string item;
  int base_ranks = 1;  // the fewest: what the ratios refer to
  std::vector<ScalingRow> rows;
};

struct LabelledRun {
  std::string label;
  RunRecord run;
};

const char* name_of(ScalingKind kind);  // "weak efficiency" or "strong speedup"

// "weak efficiency = images/s per rank / images/s per rank of 1 rank"
std::string ratio_definition(const ScalingResult& result);

// The ratio if communication cost nothing.
double ideal_ratio(const ScalingResult& result, int ranks);

// Rows by ranks, then in the order in which their labels came. Throws InputError naming the runs if they are
// not of one model and one kind of batch, if a run has no epoch, or if the fewest ranks ran on several links,
// so that there is no one base.
ScalingResult build_scaling(const std::vector<LabelledRun>& runs);

TextTable scaling_table(const ScalingResult& result);
TextTable scaling_csv_table(const ScalingResult& result);
std::string scaling_markdown(const ScalingResult& result);

}  // namespace tandem
