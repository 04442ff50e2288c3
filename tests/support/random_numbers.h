// Reproducible random integers for property tests.
#pragma once

#include <cstdint>

#include "core/rng.h"

namespace tandem {

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : key_(philox_key(seed, RandomUse::Synthetic)) {}

  // Uniform in [0, bound).
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(
        uniform_below(philox(key_, next_++).word[0], static_cast<std::uint32_t>(bound)));
  }

 private:
  PhiloxKey key_;
  std::uint64_t next_ = 0;
};

}  // namespace tandem
