// A table of text, as Markdown that also reads well unrendered, or as CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class Align { Left, Right };

// Owns its cells. Cells are UTF-8; widths count code points, which is right for everything these tables hold.
class TextTable {
 public:
  struct Column {
    std::string header;
    Align align = Align::Right;
  };

  explicit TextTable(std::vector<Column> columns);

  void add_row(std::vector<std::string> cells);  // REQUIRES as many cells as columns
  const std::vector<Column>& columns() const { return columns_; }
  std::size_t rows() const { return rows_.size(); }
  const std::vector<std::string>& row(std::size_t i) const { return rows_[i]; }  // REQUIRES i < rows()

  // A GitHub table with padded cells. "|" is escaped and a line break becomes a space, since either would end
  // a cell.
  std::string markdown() const;
  // RFC 4180 with line feeds: a cell with a comma, quote, line break or outer blank is quoted, quotes are
  // doubled.
  std::string csv() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

std::string with_thousands(std::int64_t value);  // "1,234,567"

}  // namespace tandem
