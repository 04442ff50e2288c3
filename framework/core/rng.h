// Counter-based random numbers: the same (key, counter) gives the same numbers on every backend, rank and
// thread.
//
// Philox-4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// section 5.3). There is no state to carry: whoever needs a number computes its counter from what the number
// is for (seed, step, global sample index, layer), so results do not depend on how samples are spread over
// ranks.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace tandem {

struct Philox4 {
  std::uint32_t word[4];
};

// What a stream of numbers is for; part of the key, so that two uses never share numbers.
enum class RandomUse : std::uint32_t {
  Initialization = 1,
  Permutation = 2,
  Augmentation = 3,
  Dropout = 4,
  Synthetic = 5
};

struct PhiloxKey {
  std::uint32_t low;
  std::uint32_t high;
};

TANDEM_HOST_DEVICE inline PhiloxKey philox_key(std::uint64_t seed, RandomUse use, std::uint32_t index = 0) {
  // The use and index go into the high word by a multiplicative mix, the seed's two halves into both.
  const auto low = static_cast<std::uint32_t>(seed);
  const auto high = static_cast<std::uint32_t>(seed >> 32);
  return {low, high ^ (static_cast<std::uint32_t>(use) * 0x9E3779B9u + index * 0x85EBCA6Bu)};
}

TANDEM_HOST_DEVICE inline Philox4 philox(PhiloxKey key, std::uint64_t counter_low,
                                         std::uint64_t counter_high = 0) {
  Philox4 c{{static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
             static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)}};
  std::uint32_t k0 = key.low;
  std::uint32_t k1 = key.high;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c.word[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c.word[2];
    const auto h0 = static_cast<std::uint32_t>(p0 >> 32);
    const auto h1 = static_cast<std::uint32_t>(p1 >> 32);
    c = Philox4{{h1 ^ c.word[1] ^ k0, static_cast<std::uint32_t>(p1), h0 ^ c.word[3] ^ k1,
                 static_cast<std::uint32_t>(p0)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Uniform in [0, 1), 24 bits: exactly representable in fp32, hence equal on every backend.
TANDEM_HOST_DEVICE inline float uniform01(std::uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

// Standard normal by Box–Muller from two words. Host only where bits matter: log and cos differ between
// libraries.
TANDEM_HOST_DEVICE inline float standard_normal(std::uint32_t a, std::uint32_t b) {
  const float u = (static_cast<float>(a >> 8) + 0.5f) * (1.0f / 16777216.0f);  // never 0
  return std::sqrt(-2.0f * std::log(u)) * std::cos(6.2831853071795864f * uniform01(b));
}

// Uniform integer in [0, bound), by the high half of a product (bias below bound / 2^32).
TANDEM_HOST_DEVICE inline std::uint32_t uniform_below(std::uint32_t word, std::uint32_t bound) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(word) * bound) >> 32);
}

}  // namespace tandem
