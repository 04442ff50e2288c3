// A fast hash for comparing contents between ranks. Not for security.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

// FNV-1a with 64 bits (Fowler, Noll, Vo), over 8-byte words for speed and single bytes at the end.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3ull;
  std::uint64_t hash = 0xcbf29ce484222325ull;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i)
      word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
  }
  for (; at < bytes.size(); ++at) hash = (hash ^ static_cast<unsigned char>(bytes[at])) * kPrime;
  return hash;
}

}  // namespace tandem
