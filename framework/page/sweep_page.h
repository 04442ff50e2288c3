// The page of a sweep over config keys: one HTML file that needs nothing else.
#pragma once

#include <string>

#include "report/sweep_result.h"

namespace tandem {

// Throughput against the first key, a line per combination of the others. All text of the result is escaped.
std::string sweep_page(const SweepResult& result);

}  // namespace tandem
