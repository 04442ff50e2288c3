// `launcher report`: run records and comparisons as text or as a page for a browser.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tandem {

enum class ReportFormat { Markdown, Csv, Html };

// One run record: its page (as CSV, its table of step times). One comparison or sweep: its table. A
// launch.json of a run that did not finish: how it ended. Two run records or two comparisons: what changed
// and what moved between them (not as CSV), after their common table if they have one. Several inputs: one
// comparison of their runs, where those with the same link, pace, schedule, config and machine are repeats of
// one row; comparisons and sweeps among them stand for the runs that they were made of, so that records of
// several machines become one table. On different numbers of ranks: how the runs scale (report/scaling.h).
// A folder stands for the result in it. Throws InputError naming the file that is not there or not what it
// should be.
std::string render_report(const std::vector<std::filesystem::path>& inputs, ReportFormat format);

}  // namespace tandem
