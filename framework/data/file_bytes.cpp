#include "data/file_bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <system_error>

#include "core/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

bool starts_as_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

[[noreturn]] void fail_gzip(const fs::path& path, std::string found) {
  throw InputError({.what = "The compressed file is damaged.",
                    .where = path.string(),
                    .expected = "a complete gzip stream that ends with the file",
                    .found = std::move(found),
                    .advice = "Fetch the file again and check it with `gzip -t`."});
}

// Owns one zlib stream that reads gzip members out of memory.
class Inflater {
 public:
  explicit Inflater(std::span<const std::uint8_t> compressed) : rest_(compressed) {
    constexpr int kLargestWindow = 15;
    constexpr int kGzipWrapper = 16;
    const int code = inflateInit2(&stream_, kLargestWindow + kGzipWrapper);
    TANDEM_EXPECT(code == Z_OK, "zlib did not start: code {}", code);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` as far as one call of zlib does. Returns the bytes written; `code` is zlib's answer.
  std::size_t inflate_into(std::span<std::uint8_t> out, int& code) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();  // zlib counts in 32 bits
    const std::size_t given = std::min(rest_.size(), kMost);
    stream_.next_in = const_cast<Bytef*>(rest_.data());  // zlib's interface is not const; it only reads
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = out.data();
    const std::size_t room = std::min(out.size(), kMost);
    stream_.avail_out = static_cast<uInt>(room);
    code = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(given - stream_.avail_in);
    return room - stream_.avail_out;
  }

  std::span<const std::uint8_t> rest() const { return rest_; }
  const char* message() const { return stream_.msg != nullptr ? stream_.msg : "damaged data"; }
  void start_next_member() { inflateReset(&stream_); }

 private:
  z_stream stream_{};
  std::span<const std::uint8_t> rest_;
};

Bytes gunzip(std::span<const std::uint8_t> compressed, const fs::path& path, std::int64_t limit_bytes) {
  Inflater inflater(compressed);
  const auto limit = static_cast<std::size_t>(limit_bytes);
  Bytes out;
  std::size_t written = 0;
  while (true) {
    // One byte more than the limit is room enough to notice that the limit is passed.
    if (written == out.size()) out.resize(std::min(std::max<std::size_t>(2 * written, 1 << 16), limit + 1));
    int code = Z_OK;
    written += inflater.inflate_into(std::span(out).subspan(written), code);
    if (written > limit) fail_gzip(path, fmt::format("more than {} bytes of content", limit));
    if (code == Z_STREAM_END) {
      if (inflater.rest().empty()) break;
      if (!starts_as_gzip(inflater.rest())) {
        fail_gzip(path, fmt::format("{} bytes after the end of the gzip stream", inflater.rest().size()));
      }
      inflater.start_next_member();
    } else if (code == Z_BUF_ERROR && written == out.size()) {
      continue;  // only the room for output ran out
    } else if (code == Z_BUF_ERROR) {
      fail_gzip(path, fmt::format("the stream is cut off after {} bytes of content", written));
    } else if (code != Z_OK) {
      fail_gzip(path, fmt::format("{} after {} bytes of content", inflater.message(), written));
    }
  }
  out.resize(written);
  return out;
}

}  // namespace

std::vector<std::uint8_t> read_bytes(const fs::path& path) {
  std::error_code code;
  const auto status = fs::status(path, code);
  if (!fs::is_regular_file(status)) {
    throw InputError({.what = "The data file cannot be read.",
                      .where = path.string(),
                      .expected = "a regular file",
                      .found = code ? code.message() : "something that is not a regular file",
                      .advice = "Check the path in the configuration."});
  }
  std::ifstream file(path, std::ios::binary);
  const std::uintmax_t bytes = fs::file_size(path, code);
  Bytes content(file && !code ? bytes : 0);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!file || code) {
    throw InputError(
        {.what = "The data file cannot be read.",
         .where = path.string(),
         .expected = "a readable file",
         .found = file.is_open() ? "a file that ends too early" : std::generic_category().message(errno),
         .advice = "Check the permissions of the file and of its folder."});
  }
  return content;
}

std::vector<std::uint8_t> read_plain_or_gzip(const fs::path& path, std::int64_t limit_bytes) {
  Bytes content = read_bytes(path);
  if (starts_as_gzip(content)) return gunzip(content, path, limit_bytes);
  if (content.size() > static_cast<std::size_t>(limit_bytes)) {
    throw InputError({.what = "The data file is too large for its format.",
                      .where = path.string(),
                      .expected = fmt::format("at most {} bytes", limit_bytes),
                      .found = fmt::format("{} bytes", content.size()),
                      .advice = "Check that the path names the right file."});
  }
  return content;
}

}  // namespace tandem
