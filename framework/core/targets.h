// What data sets and the loss agree on.
#pragma once

#include <cstdint>

namespace tandem {

// The target that the loss leaves out: samples that only fill up a batch, and positions without an answer.
inline constexpr std::int32_t kIgnoredTarget = -1;

}  // namespace tandem
