// A random order of [0, count) that needs no memory: position -> index, computed where it is needed.
#pragma once

#include <cstdint>

#include "core/rng.h"

namespace tandem {

// Depends on (seed, epoch, count) only, never on a rank, so that all ranks see one order and a run resumes at
// any position without replaying the ones before it.
//
// A Feistel network whose round function is Philox permutes the smallest [0, 4^h) that holds the range (M.
// Luby, C. Rackoff, 1988); a result outside [0, count) is put in again until it falls inside, which keeps it
// a permutation (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", 2002). That takes fewer than
// four passes on average.
class Permutation {
 public:
  Permutation(std::int64_t count, std::uint64_t seed, std::int64_t epoch);  // REQUIRES 1 <= count <= 2^62

  std::int64_t operator()(std::int64_t position) const;  // REQUIRES 0 <= position < count

 private:
  std::uint64_t pass(std::uint64_t value) const;

  std::uint64_t count_;
  std::uint64_t epoch_;
  PhiloxKey key_;
  int half_bits_;  // h
};

}  // namespace tandem
