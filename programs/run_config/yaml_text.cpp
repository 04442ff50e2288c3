#include "run_config/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::size_t kMostBytes = 64 << 10;  // a file with every key there is has 2 KiB

std::uint8_t byte_at(std::string_view text, std::size_t offset) {
  return static_cast<std::uint8_t>(text[offset]);
}

// The bytes of the character at `offset`, or 0 if none is valid there (Unicode 15, table 3-7).
std::size_t character_bytes(std::string_view text, std::size_t offset) {
  const std::uint8_t lead = byte_at(text, offset);
  if (lead < 0x80) return 1;
  const std::size_t count = lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3 : 4;
  if (lead < 0xC2 || lead > 0xF4 || offset + count > text.size()) return 0;
  const std::uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(text, offset + 1) < lowest || byte_at(text, offset + 1) > highest) return 0;
  for (std::size_t i = 2; i < count; ++i) {
    if ((byte_at(text, offset + i) & 0xC0) != 0x80) return 0;
  }
  return count;
}

// The byte at which UTF-8 breaks off; npos if the text is valid.
std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t count = character_bytes(text, offset);
    if (count == 0) return offset;
    offset += count;
  }
  return std::string_view::npos;
}

// The first byte below 0x20 other than tab and line feed, or DEL; npos if there is none.
std::size_t find_control_character(std::string_view text) {
  const auto found = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F;
  });
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}

void refuse_other_encodings(std::string_view bytes, const std::string& file_name) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    throw InputError({.what = "the config file is not UTF-8",
                      .where = file_name,
                      .expected = "UTF-8 text",
                      .found = "a UTF-16 or UTF-32 byte order mark",
                      .advice = "save the file as UTF-8"});
  }
  const std::size_t invalid = find_invalid_utf8(bytes);
  if (invalid == std::string_view::npos) return;
  throw InputError({.what = "the config file is not UTF-8",
                    .where = place_text(file_name, position_of(bytes, invalid)),
                    .expected = "UTF-8 text",
                    .found = fmt::format("the byte 0x{:02X}", byte_at(bytes, invalid)),
                    .advice = "save the file as UTF-8"});
}

void refuse_control_characters(std::string_view text, const std::string& file_name) {
  const std::size_t control = find_control_character(text);
  if (control == std::string_view::npos) return;
  throw InputError({.what = "control character in the config file",
                    .where = place_text(file_name, position_of(text, control)),
                    .expected = "printable text",
                    .found = fmt::format("the byte 0x{:02X}", byte_at(text, control)),
                    .advice = "remove it, or check that this is the file you mean"});
}

void refuse_tab_indentation(std::string_view text, const std::string& file_name) {
  std::size_t line_start = 0;
  while (line_start < text.size()) {
    const std::size_t first = text.find_first_not_of(' ', line_start);
    if (first != std::string_view::npos && text[first] == '\t') {
      throw InputError({.what = "tab in the indentation",
                        .where = place_text(file_name, position_of(text, first)),
                        .expected = "spaces: YAML does not allow tabs here",
                        .found = "a tab",
                        .advice = "replace it by two spaces"});
    }
    const std::size_t line_end = text.find('\n', line_start);
    if (line_end == std::string_view::npos) return;
    line_start = line_end + 1;
  }
}

}  // namespace

std::string place_text(const std::string& file_name, TextPosition at, std::string_view key_path) {
  const std::string place = fmt::format("{}:{}:{}", file_name, at.line, at.column);
  return key_path.empty() ? place : fmt::format("{} ({})", place, key_path);
}

bool is_printable_line(std::string_view text) {
  constexpr auto kNone = std::string_view::npos;
  return find_control_character(text) == kNone && text.find_first_of("\t\n") == kNone &&
         find_invalid_utf8(text) == kNone;
}

TextPosition position_of(std::string_view text, std::size_t byte_offset) {
  const std::string_view before = text.substr(0, byte_offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t last_break = before.rfind('\n');
  const std::string_view in_line =
      last_break == std::string_view::npos ? before : before.substr(last_break + 1);
  const auto characters = std::count_if(in_line.begin(), in_line.end(),
                                        [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; });
  return {static_cast<int>(lines) + 1, static_cast<int>(characters) + 1};
}

std::string clean_text(std::string_view bytes, const std::string& file_name) {
  if (bytes.size() > kMostBytes) {
    throw InputError({.what = "the config file is too large",
                      .where = file_name,
                      .expected = fmt::format("at most {} bytes", kMostBytes),
                      .found = fmt::format("{} bytes", bytes.size()),
                      .advice = "check that this is the file you mean"});
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  refuse_other_encodings(bytes, file_name);

  std::string text;
  text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool ends_line = bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n';
    if (!ends_line) text += bytes[i];
  }
  refuse_control_characters(text, file_name);
  refuse_tab_indentation(text, file_name);
  return text;
}

}  // namespace tandem
