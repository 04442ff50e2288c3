#include "page/html_text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace tandem {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length of the UTF-8 sequence that `text` begins with; 0 if it is none. Overlong forms, surrogates and
// what lies beyond U+10FFFF are none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto within = [&](std::size_t i, int low, int high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = within(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = within(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

const char* limit_class(Limit limit) {
  constexpr std::array kClasses = {"communication", "latency", "data",   "contention",
                                   "straggler",     "launch",  "compute"};
  return kClasses[static_cast<std::size_t>(limit)];
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const auto length = utf8_length(text);
    const char c = text.front();
    const bool control = length == 1 && static_cast<std::uint8_t>(c) < 0x20 && c != '\n' && c != '\t';
    if (length == 0 || control || c == 0x7F)
      escaped += kReplacement;
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\'')
      escaped += "&#39;";
    else
      escaped += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

std::string html_table(const TextTable& table, std::string_view caption) {
  const auto cell = [&](const char* tag, const char* scope, std::size_t c, const std::string& text) {
    const char* side = table.columns()[c].align == Align::Right ? " class=\"number\"" : "";
    return fmt::format("<{}{}{}>{}</{}>", tag, scope, side, escape_html(text), tag);
  };
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{0}\">\n<table>\n<caption>{0}</caption>\n"
      "<thead><tr>",
      escape_html(caption));
  for (std::size_t c = 0; c < table.columns().size(); ++c)
    html += cell("th", " scope=\"col\"", c, table.columns()[c].header);
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows(); ++r) {
    html += "<tr>";
    for (std::size_t c = 0; c < table.columns().size(); ++c)
      html += c == 0 ? cell("th", " scope=\"row\"", c, table.row(r)[c]) : cell("td", "", c, table.row(r)[c]);
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

std::string html_facts(const std::map<std::string, std::string>& facts, std::string_view caption) {
  if (facts.empty()) return {};
  TextTable table({{"name", Align::Left}, {"value", Align::Left}});
  for (const auto& [name, value] : facts) table.add_row({name, value});
  return html_table(table, caption);
}

std::string html_list(const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string html = "<ul>\n";
  for (const auto& item : items) html += fmt::format("<li>{}</li>\n", escape_html(item));
  return html + "</ul>\n";
}

std::string html_conclusions(const std::vector<Conclusion>& conclusions, int level) {
  if (conclusions.empty()) return {};
  std::string html = "<ol class=\"conclusions\">\n";
  for (const auto& conclusion : conclusions) {
    html += fmt::format("<li class=\"{}\">\n<h{}>{}</h{}>\n<p>{}</p>\n", limit_class(conclusion.limit), level,
                        escape_html(headline_of(conclusion)), level, escape_html(conclusion.finding));
    if (!conclusion.advice.empty())
      html += "<p class=\"try\">What to try</p>\n" + html_list(conclusion.advice);
    html += "</li>\n";
  }
  return html + "</ol>\n";
}

std::string html_tiles(const std::vector<Tile>& tiles) {
  if (tiles.empty()) return {};
  std::string html = "<dl class=\"tiles\">\n";
  for (const auto& tile : tiles) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd>", escape_html(tile.label), escape_html(tile.value));
    if (!tile.note.empty()) html += fmt::format("<dd class=\"note\">{}</dd>", escape_html(tile.note));
    html += "</div>\n";
  }
  return html + "</dl>\n";
}

std::string job_command(std::string_view command_line, int world_size) {
  const bool launched = command_line.starts_with("mpirun") || command_line.starts_with("srun");
  if (world_size == 1 || launched) return std::string(command_line);
  return fmt::format("mpirun -np {} {}", world_size, command_line);
}

}  // namespace tandem
