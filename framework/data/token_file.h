// Token files: tokens packed one after another behind a header of 32 bytes. All numbers are little-endian.
//
//   offset  bytes
//        0      8  magic "TANDEMTK"
//        8      4  version, 1
//       12      4  bytes per token, 2 or 4 (unsigned)
//       16      8  number of tokens
//       24      8  vocabulary: every token is below it; at most 2^16 or 2^31
//       32      …  the tokens, to the end of the file
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "data/dataset.h"

namespace tandem {

struct TokenFileHeader {
  static constexpr std::string_view kMagic = "TANDEMTK";
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::size_t kBytes = 32;

  std::int64_t bytes_per_token = 2;  // 2 or 4
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;

  // The largest vocabulary of a width; tokens are 32-bit signed in memory.
  static constexpr std::int64_t vocabulary_limit(std::int64_t width) {
    return std::int64_t{1} << (width == 2 ? 16 : 31);
  }

  // The smallest width that holds every token of a vocabulary.
  static constexpr std::int64_t width_for(std::int64_t vocabulary) {
    return vocabulary <= vocabulary_limit(2) ? 2 : 4;
  }
};

// Checks a whole file, given its content: magic, version, width, vocabulary, and that the tokens fill it
// exactly. Throws InputError naming `path`.
TokenFileHeader parse_token_file(std::span<const std::uint8_t> content, const std::filesystem::path& path);

// Maps the file, so its size does not matter; offsets are 64 bits. Tokens are checked against the vocabulary
// when they are read. Throws InputError if the file is malformed or shorter than one sample of T+1 tokens.
std::unique_ptr<TokenDataset> open_token_file(const std::filesystem::path& path,
                                              std::int64_t sequence_length);

}  // namespace tandem
