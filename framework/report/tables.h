// The tables that users see, as text. They name every quantity as docs/measuring.md does: communication is
// always "exposed" or "busy". Pure functions of records.
#pragma once

#include <string>

#include "report/comparison.h"
#include "report/run_record.h"
#include "report/text_table.h"

namespace tandem {

// Buckets that are faster than this on the wire are shown as one group: event resolution would make most of a
// line of their own.
inline constexpr double kShortestBucketShownMs = 0.02;

TextTable step_table(const RunRecord& run);
TextTable bucket_table(const RunRecord& run);  // REQUIRES run.bucket_times
TextTable epoch_table(const RunRecord& run);
TextTable rank_table(const RunRecord& run);        // a row per rank: means over the measured steps
TextTable startup_table(const RunRecord& run);     // a row per phase
TextTable economy_table(const RunRecord& run);     // throughput, MFU, energy, cost
TextTable contention_table(const RunRecord& run);  // REQUIRES run.control
// The table with what it stands on; nothing where there was no control run.
std::string contention_section(const RunRecord& run);

// The whole page of one run: what it was, its tables, its results.
std::string run_markdown(const RunRecord& run);

// For reading: one row per link; medians over repeats, epoch time and speedup with their ranges.
TextTable compare_table(const CompareResult& result);
// A row per link with T_on, T_off, exposed and contention; no rows if no link made a control run.
TextTable control_table(const CompareResult& result);
// For machines: one number per cell, units in the headers, nothing where a value does not apply.
TextTable compare_csv_table(const CompareResult& result);

// The table with what it compares, how to read it, and the accuracy run on a line of its own.
std::string compare_markdown(const CompareResult& result);

}  // namespace tandem
