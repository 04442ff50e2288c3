#include "data/permutation.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::uint64_t kRounds = 8;  // four suffice for large ranges; small ones mix well with some more

}  // namespace

Permutation::Permutation(std::int64_t count, std::uint64_t seed, std::int64_t epoch)
    : count_(static_cast<std::uint64_t>(count)),
      epoch_(static_cast<std::uint64_t>(epoch)),
      key_(philox_key(seed, RandomUse::Permutation)) {
  TANDEM_EXPECT(count >= 1 && count <= std::int64_t{1} << 62, "cannot order {} samples", count);
  const int bits = std::max(2, static_cast<int>(std::bit_width(count_ - 1)));
  half_bits_ = (bits + 1) / 2;
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  auto value = static_cast<std::uint64_t>(position);
  TANDEM_EXPECT(value < count_, "position {} of {}", position, count_);
  do {
    value = pass(value);
  } while (value >= count_);
  return static_cast<std::int64_t>(value);
}

std::uint64_t Permutation::pass(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // A half has at most 31 bits, so that half and round fill separate words of the counter.
    const Philox4 random = philox(key_, round << 32 | right, epoch_);
    const std::uint64_t mixed = left ^ (random.word[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

}  // namespace tandem
