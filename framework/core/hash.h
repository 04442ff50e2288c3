// A fast hash for comparing contents between ranks. Not for security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

// FNV-1a with 64 bits (Fowler, Noll, Vo), over 8-byte words for speed and single bytes at the end. Contents
// may come in pieces: the hash is that of the whole if every piece but the last is a multiple of 8 bytes.
class ContentHash {
 public:
  void add(std::string_view bytes) {
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8; ++i)
        word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
      value_ = (value_ ^ word) * kPrime;
      value_ ^= value_ >> 32;
    }
    for (; at < bytes.size(); ++at) value_ = (value_ ^ static_cast<unsigned char>(bytes[at])) * kPrime;
  }
  std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3ull;
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

inline std::uint64_t hash_bytes(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace tandem
