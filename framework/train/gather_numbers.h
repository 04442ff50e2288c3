// Numbers of all ranks, on every rank.
#pragma once

#include <vector>

#include "comm/rank_group.h"

namespace tandem {

// What every rank gave, by rank; lists may differ in length, and any bits of a double arrive as they were.
// All ranks call together.
std::vector<std::vector<double>> gather_numbers(const std::vector<double>& mine, RankGroup& group);

}  // namespace tandem
