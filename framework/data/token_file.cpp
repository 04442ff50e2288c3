#include "data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "data/mapped_file.h"
#include "data/token_window.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "token files are mapped, not converted");

using Header = TokenFileHeader;

[[noreturn]] void fail(const fs::path& path, std::string expected, std::string found) {
  throw InputError(
      {.what = "The token file is malformed.",
       .where = path.string(),
       .expected = std::move(expected),
       .found = std::move(found),
       .advice = "Write the file again; its format is described in framework/data/token_file.h."});
}

template <class Number>
Number number_at(std::span<const std::uint8_t> content, std::size_t offset) {
  Number number;
  std::memcpy(&number, content.data() + offset, sizeof number);
  return number;
}

class TokenFile final : public TokenDataset {
 public:
  TokenFile(MappedFile file, fs::path path, std::int64_t sequence_length)
      : file_(std::move(file)),
        path_(std::move(path)),
        header_(parse_token_file(file_.bytes(), path_)),
        sequence_length_(sequence_length) {
    if (header_.tokens < sequence_length_ + 1) {
      fail(path_, fmt::format("at least {} tokens, one sample", sequence_length_ + 1),
           fmt::format("{} tokens", header_.tokens));
    }
  }

  std::int64_t samples() const override { return window_count(header_.tokens, sequence_length_); }
  std::int64_t sequence_length() const override { return sequence_length_; }
  std::int64_t vocabulary() const override { return header_.vocabulary; }

  void read(std::int64_t index, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const override {
    TANDEM_EXPECT(index >= 0 && index < samples(), "sample {} of a data set of {}", index, samples());
    TANDEM_EXPECT(std::ssize(inputs) == sequence_length_ && std::ssize(targets) == sequence_length_,
                  "samples have {} tokens, got room for {} and {}", sequence_length_, inputs.size(),
                  targets.size());
    // The mapping starts on a page and the header is 32 bytes, so that tokens are aligned.
    const std::uint8_t* window =
        file_.bytes().data() + Header::kBytes + index * sequence_length_ * header_.bytes_per_token;
    const std::int64_t largest =
        header_.bytes_per_token == 2
            ? std::int64_t{copy_window(reinterpret_cast<const std::uint16_t*>(window), inputs, targets)}
            : std::int64_t{copy_window(reinterpret_cast<const std::uint32_t*>(window), inputs, targets)};
    if (largest >= header_.vocabulary) {
      fail(path_, fmt::format("tokens below the vocabulary of {}", header_.vocabulary),
           fmt::format("token {} in sample {} of {} tokens", largest, index, sequence_length_ + 1));
    }
  }

 private:
  MappedFile file_;
  fs::path path_;
  TokenFileHeader header_;
  std::int64_t sequence_length_;
};

}  // namespace

TokenFileHeader parse_token_file(std::span<const std::uint8_t> content, const fs::path& path) {
  if (content.size() < Header::kBytes) {
    fail(path, fmt::format("a header of {} bytes", Header::kBytes), fmt::format("{} bytes", content.size()));
  }
  if (!std::equal(Header::kMagic.begin(), Header::kMagic.end(), content.begin())) {
    fail(path, fmt::format("the magic \"{}\" at the start", Header::kMagic), "other bytes");
  }
  if (const auto version = number_at<std::uint32_t>(content, 8); version != Header::kVersion) {
    fail(path, fmt::format("version {}", Header::kVersion), fmt::format("version {}", version));
  }
  const auto width = number_at<std::uint32_t>(content, 12);
  if (width != 2 && width != 4) fail(path, "2 or 4 bytes per token", fmt::format("{}", width));
  const auto vocabulary = number_at<std::uint64_t>(content, 24);
  if (const auto most = static_cast<std::uint64_t>(Header::vocabulary_limit(width));
      vocabulary == 0 || vocabulary > most) {
    fail(path, fmt::format("a vocabulary in [1, {}]", most), fmt::format("{}", vocabulary));
  }
  // Compared as a quotient: the product of a hostile count and the width may wrap around.
  const auto tokens = number_at<std::uint64_t>(content, 16);
  const std::uint64_t payload = content.size() - Header::kBytes;
  if (payload % width != 0 || payload / width != tokens) {
    fail(path, fmt::format("{} tokens of {} bytes after the header, as it says", tokens, width),
         fmt::format("{} bytes", payload));
  }
  return {.bytes_per_token = static_cast<std::int64_t>(width),
          .tokens = static_cast<std::int64_t>(tokens),
          .vocabulary = static_cast<std::int64_t>(vocabulary)};
}

std::unique_ptr<TokenDataset> open_token_file(const fs::path& path, std::int64_t sequence_length) {
  TANDEM_EXPECT(sequence_length > 0, "sequence length {} is not above zero", sequence_length);
  return std::make_unique<TokenFile>(MappedFile(path), path, sequence_length);
}

}  // namespace tandem
