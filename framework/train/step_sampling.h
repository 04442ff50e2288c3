// Which steps of a run are kept stamp by stamp.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem {

struct StepSampling {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;  // 0: none

  bool includes(std::int64_t step) const {
    return step >= first && (step - first) % stride == 0 && (step - first) / stride < count;
  }
};

// `count` steps, or as many as there are, in the middles of equal parts of the steps [first, end).
inline StepSampling spread_over(std::int64_t first, std::int64_t end, std::int64_t count) {
  count = std::min(count, std::max<std::int64_t>(end - first, 0));
  if (count == 0) return {};
  const auto stride = (end - first) / count;
  return {.first = first + stride / 2, .stride = stride, .count = count};
}

}  // namespace tandem
