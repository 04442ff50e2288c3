// Writes token files (the format is in data/token_file.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "data/token_file.h"

namespace tandem {

// Tokens are appended in any number of pieces to "<path>.partial"; finish() completes the header and renames
// it, so that a program that stops half-way leaves nothing under the final name. Without finish() the
// destructor removes the partial file. One thread at a time. Throws InputError if the file cannot be written
// or a token is not in the vocabulary.
class TokenWriter {
 public:
  TokenWriter(std::filesystem::path path, std::int64_t vocabulary);  // the width follows from the vocabulary
  ~TokenWriter();
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;

  void append(std::span<const std::int32_t> tokens);
  void finish();  // REQUIRES at least one token; nothing may be appended after it

 private:
  void write_header();
  void require_written() const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream file_;
  TokenFileHeader header_;
  std::vector<std::uint8_t> packed_;  // one piece in the width of the file
  bool finished_ = false;
};

}  // namespace tandem
