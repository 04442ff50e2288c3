// Two runs, or two comparisons, beside each other: what changed, and what moved by more than its noise.
//
// Pure functions of records. Runs may differ in anything; this finds out in what. The range of a quantity is
// its smallest and largest value over ten equal stretches of the measured steps, over the epochs that stand
// for the run, or over the repeats of a comparison's row. The noise of a difference is half the sum of both
// ranges' widths: a difference beyond it has ranges of equal width that do not overlap. One value alone has
// no range, and nothing is said of its noise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/run_record.h"
#include "report/text_table.h"

namespace tandem {

struct ChangedFact {
  std::string where;  // "config", "version", "topology", …
  std::string what;   // "comm.link"
  std::string a;      // empty: not there
  std::string b;
  bool operator==(const ChangedFact&) const = default;
};

struct MovedQuantity {
  std::string quantity;  // with its unit: "step ms"
  Spread a;
  Spread b;
  bool has_ranges = false;  // else min and max are the median

  double change() const { return b.median - a.median; }
  std::optional<double> noise() const;
  std::optional<bool> beyond_noise() const;
  bool operator==(const MovedQuantity&) const = default;
};

struct RecordDiff {
  std::string a;  // what it is: "fashion_resnet, started …"
  std::string b;
  std::vector<ChangedFact> changed;
  std::vector<MovedQuantity> moved;   // what both have
  std::vector<std::string> limits_a;  // headlines of the conclusions
  std::vector<std::string> limits_b;
};

RecordDiff diff_runs(const RunRecord& a, const RunRecord& b);
RecordDiff diff_comparisons(const CompareResult& a, const CompareResult& b);  // rows by their label

TextTable changed_table(const RecordDiff& diff);
TextTable moved_table(const RecordDiff& diff);
// "3 of 12 quantities moved beyond their noise: step ms (+12.3 %), …"
std::string moved_line(const RecordDiff& diff);
std::string diff_markdown(const RecordDiff& diff);

}  // namespace tandem
