#include "parallel/bucket_plan.h"

#include <numeric>

namespace tandem {
namespace {

// Where the last bucket starts: as many tensors from the end as fit its cap, but at least one.
std::size_t tail_start(std::span<const ByteCount> tensors, ByteCount cap) {
  if (cap == ByteCount(0)) return tensors.size();
  auto start = tensors.size() - 1;
  auto bytes = tensors[start];
  while (start > 0 && bytes + tensors[start - 1] <= cap) bytes += tensors[--start];
  return start;
}

}  // namespace

std::vector<std::size_t> plan_buckets(std::span<const ByteCount> tensors, Grouping grouping,
                                      const BucketLimits& limits) {
  std::vector<std::size_t> starts;
  if (tensors.empty()) return starts;
  if (grouping == Grouping::PerTensor) {
    starts.resize(tensors.size());
    std::iota(starts.begin(), starts.end(), std::size_t{0});
    return starts;
  }
  const auto tail = tail_start(tensors, limits.last);
  ByteCount filled;
  for (std::size_t i = 0; i < tail; ++i) {
    const auto cap = starts.size() <= 1 ? limits.first : limits.each;
    if (starts.empty() || filled + tensors[i] > cap) {
      starts.push_back(i);
      filled = ByteCount(0);
    }
    filled += tensors[i];
  }
  if (tail < tensors.size()) starts.push_back(tail);
  return starts;
}

}  // namespace tandem
