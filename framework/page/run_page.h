// The page of one run: one HTML file that needs nothing else, no network, and tells everything that the
// record knows.
#pragma once

#include <string>

#include "report/run_record.h"

namespace tandem {

// All text of the record is escaped. Where the record has no timing, no buckets or no timeline, their
// sections are left out.
std::string run_page(const RunRecord& run);

}  // namespace tandem
