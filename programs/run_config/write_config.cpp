#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "run_config/run_config.h"
#include "run_config/schema.h"
#include "run_config/suggestion.h"
#include "run_config/value.h"

namespace tandem {
namespace {

std::string indentation(std::string_view section) {
  if (section.empty()) return "";
  std::string spaces = "  ";
  for (const char c : section) spaces += c == '.' ? "  " : "";
  return spaces;
}

// "|" ends a table cell in Markdown.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string markdown_row(const ConfigKey& key) {
  std::string meaning = key.help;
  if (key.applies != nullptr) {
    meaning += fmt::format(" Only with {} {}.", key.decided_by, join_with_or(words_it_applies_to(key)));
  }
  const std::string fallback =
      key.default_note.empty() ? fmt::format("`{}`", value_text(key)) : key.default_note;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", split_path(key.path).second, cell(type_text(key)),
                     cell(fallback), cell(key.unit), cell(meaning));
}

}  // namespace

std::string to_yaml(const RunConfig& config) {
  RunConfig copy = config;
  const ConfigSchema schema(copy);
  std::string text;
  for (const ConfigSection& section : schema.sections()) {
    std::string lines;
    for (const ConfigKey& key : schema.keys()) {
      const auto [parent, name] = split_path(key.path);
      if (parent != section.path || !schema.applies(key)) continue;
      lines += fmt::format("{}{}: {}\n", indentation(section.path), name, value_text(key));
    }
    if (lines.empty()) continue;
    if (!section.path.empty()) {
      const auto [parent, name] = split_path(section.path);
      text += fmt::format("{}{}:\n", indentation(parent), name);
    }
    text += lines;
  }
  return text;
}

std::map<std::string, std::string> written_values(std::string_view yaml) {
  constexpr std::size_t kIndentation = 2;
  std::map<std::string, std::string> values;
  std::vector<std::string> sections;  // of the line, from the outermost
  while (!yaml.empty()) {
    const auto line = yaml.substr(0, yaml.find('\n'));
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
    const auto begin = line.find_first_not_of(' ');
    const auto colon = line.find(':');
    if (begin == std::string_view::npos || colon == std::string_view::npos) continue;
    sections.resize(std::min(sections.size(), begin / kIndentation));
    std::string path;
    for (const auto& section : sections) path += section + '.';
    const std::string name(line.substr(begin, colon - begin));
    if (colon + 1 == line.size()) {
      sections.push_back(name);
    } else {
      values[path + name] = line.substr(line.find_first_not_of(' ', colon + 1));
    }
  }
  return values;
}

std::string config_value(const RunConfig& config, std::string_view path) {
  RunConfig copy = config;
  const ConfigSchema schema(copy);
  const ConfigKey* key = schema.find(path);
  TANDEM_EXPECT(key != nullptr, "there is no config key {}", path);
  return value_text(*key);
}

std::string config_reference_markdown() {
  RunConfig defaults;
  const ConfigSchema schema(defaults);
  std::string text =
      "# Configuration reference\n\n"
      "This page is what `./trainer --help-config` prints.\n\n"
      "A file holds only what differs from the defaults. `--set section.key=value` overrides it.\n";
  for (const ConfigSection& section : schema.sections()) {
    text += section.path.empty() ? "\n## Top level\n\n"
                                 : fmt::format("\n## `{}`\n\n{}\n\n", section.path, section.help);
    text += "| key | takes | default | unit | meaning |\n|---|---|---|---|---|\n";
    for (const ConfigKey& key : schema.keys()) {
      if (split_path(key.path).first == section.path) text += markdown_row(key);
    }
  }
  return text;
}

}  // namespace tandem
