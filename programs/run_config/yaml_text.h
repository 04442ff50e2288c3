// The bytes of a config file before YAML sees them.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

// Where something is in a file: lines and columns count from 1, columns in characters, as editors show them.
struct TextPosition {
  int line = 1;
  int column = 1;
  bool operator==(const TextPosition&) const = default;
};

// "file.yaml:12:5", and "file.yaml:12:5 (optim.lr)" if a key is known.
std::string place_text(const std::string& file_name, TextPosition at, std::string_view key_path = {});

// The text without a byte order mark and with "\n" line ends. Throws InputError on what has no place in a
// config: bytes that are not UTF-8, control characters, tabs that indent, more than 64 KiB.
std::string clean_text(std::string_view bytes, const std::string& file_name);

// The position of a byte of clean text.
TextPosition position_of(std::string_view text, std::size_t byte_offset);

// Whether the text is valid UTF-8 (no overlong forms, no surrogates) without tabs, line ends and other
// control characters.
bool is_printable_line(std::string_view text);

}  // namespace tandem
