// Before the first step: do all ranks run the same program on the same model?
#pragma once

#include <string>

#include "comm/rank_group.h"
#include "params/parameter_layout.h"

namespace tandem {

// One line per fact that must be equal on all ranks: parameters with shapes and places, buckets.
std::string describe_layout(const ParameterLayout& layout, DType gradient);

// Throws Error on every rank, naming the first line that differs and two ranks that have it differently.
// `facts` is text of lines ("key: value"); all ranks call together.
void expect_agreement(const std::string& facts, RankGroup& group);

}  // namespace tandem
