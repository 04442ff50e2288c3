// The parts of a comparison's page that are drawn from whole runs, one per row. Internal to this library.
#pragma once

#include <string>
#include <vector>

#include "page/compare_page.h"
#include "report/comparison.h"
#include "report/run_record.h"

namespace tandem {

// A row's name and the run that stands for it; null if its record is not there. Borrows.
struct NamedRun {
  std::string name;
  const RunRecord* run = nullptr;
  bool is_row = true;  // else the accuracy run, whose times are in no row
};

// By row, then the accuracy run, if there is one.
std::vector<NamedRun> runs_of_rows(const CompareResult& result, const ComparePageExtras& extras);

// All of the following are HTML; empty if there is nothing to show.

// Which rows have no run record, and what is not drawn for it.
std::string missing_runs(const std::vector<NamedRun>& runs);

// One step of each row's run on one time axis. Of each run, the first two ranks.
std::string timelines_of(const std::vector<NamedRun>& runs);

// A row per logged step, a column per run.
std::string loss_table_of(const std::vector<NamedRun>& runs);

}  // namespace tandem
