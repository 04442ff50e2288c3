// The page of a comparison, and of two records beside each other: one HTML file that needs nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/record_diff.h"

namespace tandem {

// What a page shows beside the comparison itself.
struct ComparePageExtras {
  // The run that stands for each row, by row: timelines and curves are drawn from it. A row without one, and
  // all of them if the list is empty, is named as missing.
  std::vector<std::optional<RunRecord>> runs;
  std::optional<RunRecord> accuracy;
  std::optional<RecordDiff> diff;  // a section of its own
};

// The median repeat of each link (report/comparison.h).
std::vector<std::optional<RunRecord>> runs_for_page(const std::vector<ComparedLink>& links);

// All text of the records is escaped. REQUIRES as many runs as rows, or none.
std::string compare_page(const CompareResult& result, const ComparePageExtras& extras = {});

// For two records that differ in too much for one table.
std::string diff_page(const RecordDiff& diff);

}  // namespace tandem
