#include "data/token_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string found) {
  throw InputError({.what = "The token file cannot be written.",
                    .where = path.string(),
                    .expected = "a writable folder with room for the tokens",
                    .found = std::move(found),
                    .advice = "Check the folder, its permissions and the free space."});
}

}  // namespace

TokenWriter::TokenWriter(std::filesystem::path path, std::int64_t vocabulary)
    : path_(std::move(path)), partial_(path_.string() + ".partial") {
  TANDEM_EXPECT(vocabulary > 0 && vocabulary <= TokenFileHeader::vocabulary_limit(4),
                "vocabulary {} is not in [1, {}]", vocabulary, TokenFileHeader::vocabulary_limit(4));
  header_ = {
      .bytes_per_token = TokenFileHeader::width_for(vocabulary), .tokens = 0, .vocabulary = vocabulary};
  file_.open(partial_, std::ios::binary | std::ios::trunc);
  write_header();
  require_written();
}

TokenWriter::~TokenWriter() {
  if (finished_) return;
  file_.close();
  std::error_code ignored;  // a destructor does not throw; a left-over partial file is never read
  std::filesystem::remove(partial_, ignored);
}

void TokenWriter::append(std::span<const std::int32_t> tokens) {
  TANDEM_EXPECT(!finished_, "{} is finished", path_.string());
  const auto width = static_cast<std::size_t>(header_.bytes_per_token);
  packed_.resize(tokens.size() * width);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= header_.vocabulary) {
      throw InputError(
          {.what = "A token is not in the vocabulary.",
           .where = path_.string(),
           .expected = fmt::format("tokens in [0, {})", header_.vocabulary),
           .found = fmt::format("{} at token {}", tokens[i], header_.tokens + static_cast<std::int64_t>(i)),
           .advice = "Give the vocabulary of the tokenizer that made the tokens."});
    }
    // Little-endian: the low bytes come first, whichever the width.
    std::memcpy(packed_.data() + i * width, &tokens[i], width);
  }
  file_.write(reinterpret_cast<const char*>(packed_.data()), static_cast<std::streamsize>(packed_.size()));
  require_written();
  header_.tokens += std::ssize(tokens);
}

void TokenWriter::finish() {
  TANDEM_EXPECT(!finished_, "{} is finished", path_.string());
  TANDEM_EXPECT(header_.tokens > 0, "{} would hold no tokens", path_.string());
  file_.seekp(0);
  write_header();
  file_.close();
  require_written();
  std::error_code code;
  std::filesystem::rename(partial_, path_, code);
  if (code) fail(path_, code.message());
  finished_ = true;
}

void TokenWriter::write_header() {
  std::uint8_t bytes[TokenFileHeader::kBytes] = {};
  const auto put = [&bytes](std::size_t offset, auto number) {
    std::memcpy(bytes + offset, &number, sizeof number);
  };
  std::copy(TokenFileHeader::kMagic.begin(), TokenFileHeader::kMagic.end(), bytes);
  put(8, TokenFileHeader::kVersion);
  put(12, static_cast<std::uint32_t>(header_.bytes_per_token));
  put(16, static_cast<std::uint64_t>(header_.tokens));
  put(24, static_cast<std::uint64_t>(header_.vocabulary));
  file_.write(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

void TokenWriter::require_written() const {
  if (!file_) fail(partial_, std::generic_category().message(errno));
}

}  // namespace tandem
