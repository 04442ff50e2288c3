// Two links of three repeats: shm with epochs of 1.6, 2.5 and 2.0 s, paced tcp with 4, 6 and 5 s; and an
// accuracy run.
#pragma once

#include <vector>

#include "report/comparison.h"

namespace tandem {

std::vector<ComparedLink> example_links();
CompareResult example_comparison();

}  // namespace tandem
