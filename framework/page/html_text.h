// Text into HTML. Everything that comes out of a record goes through here: a record is a file that anybody
// may have written. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/conclusions.h"
#include "report/text_table.h"

namespace tandem {

// For text and for attributes in double quotes. Bytes that are not UTF-8 and control characters become
// U+FFFD.
std::string escape_html(std::string_view text);

// A table with a caption, header cells and numbers to the right, in a region of its own that scrolls sideways
// and that the keyboard reaches.
std::string html_table(const TextTable& table, std::string_view caption);

// Two columns: name and value. Empty for no facts.
std::string html_facts(const std::map<std::string, std::string>& facts, std::string_view caption);

std::string html_list(const std::vector<std::string>& items);  // <ul>; empty for no items

// An ordered list, largest limit first; empty for no conclusions. `level` is that of its headings, 2 to 6.
std::string html_conclusions(const std::vector<Conclusion>& conclusions, int level);

// The command as a user would type it. A rank knows its own command line only, not the mpirun that started
// it.
std::string job_command(std::string_view command_line, int world_size);

// A key figure.
struct Tile {
  std::string label;
  std::string value;
  std::string note;  // may be empty
};
std::string html_tiles(const std::vector<Tile>& tiles);

}  // namespace tandem
