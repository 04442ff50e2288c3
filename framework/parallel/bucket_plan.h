// How gradients are cut into buckets: a pure function.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/dtype.h"

namespace tandem {

enum class Grouping { PerTensor, Bucketed };

// Caps in bytes of gradient. A tensor is never split: one that is larger than the cap is a bucket of its own.
//
// A small first bucket lets communication start early in the backward pass. A small last one shortens the
// tail: its all-reduce starts when backward is over, so nothing hides it.
struct BucketLimits {
  ByteCount first;
  ByteCount each;
  ByteCount last;  // 0: the end is cut like the rest
};

// `tensors`: bytes of each gradient in the order in which they become ready. Returns where buckets start,
// ascending, the first 0; empty for no tensors. Every rank computes the same plan from the same layout.
std::vector<std::size_t> plan_buckets(std::span<const ByteCount> tensors, Grouping grouping,
                                      const BucketLimits& limits);

}  // namespace tandem
