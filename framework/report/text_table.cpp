#include "report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    if (c == '\r') continue;
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string csv_cell(const std::string& text) {
  const bool outer_blank = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!outer_blank && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  TANDEM_EXPECT(!columns_.empty(), "a table takes at least one column");
}

void TextTable::add_row(std::vector<std::string> cells) {
  TANDEM_EXPECT(cells.size() == columns_.size(), "a row of this table takes {} cells, got {}",
                columns_.size(), cells.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::markdown() const {
  std::vector<std::vector<std::string>> lines(rows_.size() + 1);
  std::vector<std::size_t> widths(columns_.size(), 3);  // room for the shortest rule
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      lines[l].push_back(markdown_cell(l == 0 ? columns_[c].header : rows_[l - 1][c]));
      widths[c] = std::max(widths[c], width_of(lines[l][c]));
    }
  }
  std::string text;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string padding(widths[c] - width_of(lines[l][c]), ' ');
      const bool right = columns_[c].align == Align::Right;
      text += "| ";
      text += right ? padding + lines[l][c] : lines[l][c] + padding;
      text += ' ';
    }
    text += "|\n";
    if (l > 0) continue;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool right = columns_[c].align == Align::Right;
      text += "| ";
      text.append(widths[c] - (right ? 1 : 0), '-');
      text += right ? ": " : " ";
    }
    text += "|\n";
  }
  return text;
}

std::string TextTable::csv() const {
  std::string text;
  for (std::size_t l = 0; l <= rows_.size(); ++l) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += ',';
      text += csv_cell(l == 0 ? columns_[c].header : rows_[l - 1][c]);
    }
    text += '\n';
  }
  return text;
}

std::string with_thousands(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace tandem
