#include "report/config_text.h"

#include <vector>

namespace tandem {
namespace {

struct Level {
  std::size_t indent;
  std::string key;
};

std::string path_of(const std::vector<Level>& levels) {
  std::string path;
  for (const auto& level : levels) path += (path.empty() ? "" : ".") + level.key;
  return path;
}

}  // namespace

std::map<std::string, std::string> config_values(std::string_view yaml) {
  std::map<std::string, std::string> values;
  std::vector<Level> levels;  // the keys that the line stands in, outermost first
  while (!yaml.empty()) {
    const auto end = yaml.find('\n');
    const auto line = yaml.substr(0, end);
    yaml.remove_prefix(end == std::string_view::npos ? yaml.size() : end + 1);
    const auto indent = line.find_first_not_of(' ');
    const auto colon = line.find(':');
    if (indent == std::string_view::npos || colon == std::string_view::npos || colon <= indent) continue;
    while (!levels.empty() && levels.back().indent >= indent) levels.pop_back();
    levels.push_back({indent, std::string(line.substr(indent, colon - indent))});
    const auto value = line.find_first_not_of(' ', colon + 1);
    if (value != std::string_view::npos) values[path_of(levels)] = line.substr(value);
  }
  return values;
}

}  // namespace tandem
