// The page of one program on different numbers of ranks: one HTML file that needs nothing else.
#pragma once

#include <string>

#include "report/scaling.h"

namespace tandem {

// Weak efficiency or strong speedup against ranks, beside the ideal. All text of the result is escaped.
std::string scaling_page(const ScalingResult& result);

}  // namespace tandem
