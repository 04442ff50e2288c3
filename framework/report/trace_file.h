// The sampled steps of a run as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// The format is Chrome's Trace Event Format, the JSON object form. A rank is a process with the lanes
// compute, communication and data; the arrows of a bucket go from the moment at which its last gradient is
// written to its all-reduce and on to its update. docs/measuring.md says what the slices mean.
#pragma once

#include <string>

#include "report/run_record.h"

namespace tandem {

// Of run.timelines, all of them; times count from the earliest event. Lanes are exact to the stamps'
// resolution of 0.1 us; how far the lanes of two ranks may stand apart is said in "otherData" and with every
// step. REQUIRES a consistent record.
std::string chrome_trace(const RunRecord& run);

}  // namespace tandem
