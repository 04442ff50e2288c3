#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "run_config/run_config.h"
#include "run_config/unknown_key.h"
#include "run_config/validate.h"
#include "run_config/value.h"
#include "run_config/yaml_reader.h"

namespace tandem {
namespace {

// Puts a file and then overrides into one config, and remembers who set what.
class ConfigReader {
 public:
  explicit ConfigReader(RunConfig& config) : schema_(config) {}

  const ConfigSchema& schema() const { return schema_; }
  const Origins& origins() const { return origins_; }

  void read_file(std::string_view text, const std::string& file_name);
  void read_override(const std::string& text);

 private:
  void read_section(const YamlNode& node, const std::string& section, const std::string& file_name);
  void set(const ConfigKey& key, const YamlNode& node, const std::string& where) {
    assign(key, node, where);
    origins_.set(key.path, where);
  }

  ConfigSchema schema_;
  Origins origins_;
};

void ConfigReader::read_file(std::string_view text, const std::string& file_name) {
  const YamlNode root = read_yaml(text, file_name);
  if (root.kind == YamlNode::Kind::Nothing) {
    throw InputError({.what = "the config file is empty",
                      .where = file_name,
                      .expected = "lines of \"key: value\"",
                      .found = "nothing",
                      .advice = "for a run with all defaults, write {}"});
  }
  if (root.kind != YamlNode::Kind::Map) {
    throw InputError({.what = "the config file does not hold keys at its top level",
                      .where = place_text(file_name, root.at),
                      .expected = "lines of \"key: value\"",
                      .found = found_text(root),
                      .advice = ""});
  }
  read_section(root, "", file_name);
}

void ConfigReader::read_section(const YamlNode& node, const std::string& section,
                                const std::string& file_name) {
  for (const YamlEntry& entry : node.entries) {
    const std::string path = section.empty() ? entry.key : section + "." + entry.key;
    const std::string key_place = place_text(file_name, entry.key_at, path);
    const bool dotted = entry.key.find('.') != std::string::npos;
    if (dotted && schema_.find(path) != nullptr) {
      const auto [parent, name] = split_path(path);
      throw InputError(
          {.what = fmt::format("\"{}\" is a key with its section in one name", entry.key),
           .where = key_place,
           .expected = fmt::format("\"{}\" indented below \"{}:\"", name, split_path(parent).second),
           .found = fmt::format("\"{}\"", entry.key),
           .advice = "the short form is for --set only"});
    }
    const std::string value_place = place_text(file_name, entry.value.at, path);
    if (dotted || entry.key.empty()) refuse_unknown_key(schema_, path, key_place);
    if (const ConfigKey* key = schema_.find(path)) {
      set(*key, entry.value, value_place);
    } else if (!schema_.is_section(path)) {
      refuse_unknown_key(schema_, path, key_place);
    } else if (entry.value.kind != YamlNode::Kind::Map) {
      const bool nothing = entry.value.kind == YamlNode::Kind::Nothing;
      throw InputError({.what = fmt::format("{} is a section, not a value", path),
                        .where = value_place,
                        .expected = "keys on the lines below, indented by two spaces",
                        .found = found_text(entry.value),
                        .advice = nothing ? "delete the line, or indent what belongs to it" : ""});
    } else {
      read_section(entry.value, path, file_name);
    }
  }
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// Text needs no quotes on the command line, where the shell has its own: what does not begin like a quoted
// value or a list is taken as it stands.
YamlNode override_value(const ConfigKey& key, const std::string& text, const std::string& where) {
  const bool is_text =
      std::holds_alternative<TextType>(key.type) || std::holds_alternative<ChoiceType>(key.type);
  if (!text.empty() && (text[0] == '[' || text[0] == '{' || text[0] == '"' || text[0] == '\'')) {
    try {
      return read_yaml(text, where);
    } catch (const InputError& error) {
      InputProblem problem = error.problem();
      problem.where = where;  // a line and column of the command line would help nobody
      throw InputError(std::move(problem));
    }
  }
  YamlNode node;
  node.kind = text.empty() && !is_text ? YamlNode::Kind::Nothing : YamlNode::Kind::Scalar;
  node.text = text;
  return node;
}

void ConfigReader::read_override(const std::string& text) {
  if (!is_printable_line(text)) {
    throw InputError({.what = "an override is not printable UTF-8 text",
                      .where = "--set",
                      .expected = "section.key=value, as in optim.lr=0.4",
                      .found = "control characters or other bytes",
                      .advice = ""});
  }
  const std::size_t equals = text.find('=');
  const std::string path = trimmed(std::string_view(text).substr(0, equals));
  const std::string where = path.empty() ? "--set" : "--set " + path;
  if (equals == std::string::npos || path.empty()) {
    throw InputError({.what = "an override is not of the form key=value",
                      .where = "--set",
                      .expected = "section.key=value, as in optim.lr=0.4",
                      .found = fmt::format("\"{}\"", text),
                      .advice = ""});
  }
  const ConfigKey* key = schema_.find(path);
  if (key == nullptr && schema_.is_section(path)) {
    throw InputError({.what = fmt::format("{} is a section, not a key", path),
                      .where = where,
                      .expected = fmt::format("{}.key=value", path),
                      .found = fmt::format("\"{}\"", text),
                      .advice = ""});
  }
  if (key == nullptr) refuse_unknown_key(schema_, path, where);
  set(*key, override_value(*key, trimmed(std::string_view(text).substr(equals + 1)), where), where);
}

// "configs/gpt text.yaml" -> "gpt_text": what report.name takes.
std::string run_name(const std::string& file_name) {
  std::string name = std::filesystem::path(file_name).stem().string();
  constexpr std::size_t kLongest = 64;
  name.resize(std::min(name.size(), kLongest));
  for (char& c : name) {
    const bool fits =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.';
    if (!fits) c = '_';
  }
  return name.empty() || name[0] == '.' ? "run" : name;
}

}  // namespace

RunConfig parse_run_config(std::string_view text, const std::string& file_name,
                           std::span<const std::string> overrides) {
  RunConfig config;
  ConfigReader reader(config);
  reader.read_file(text, file_name);
  for (const std::string& override_text : overrides) reader.read_override(override_text);
  fill_dependent_defaults(config, reader.origins(), run_name(file_name));
  validate(reader.schema(), reader.origins());
  return config;
}

RunConfig load_run_config(const std::filesystem::path& file, std::span<const std::string> overrides) {
  const auto refuse = [&](const char* what, const std::string& found) {
    throw InputError({.what = what,
                      .where = file.string(),
                      .expected = "a YAML file that can be read",
                      .found = found,
                      .advice = ""});
  };
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) refuse("the config is not a file", "a folder");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse("the config file cannot be opened", std::generic_category().message(errno));
  // More than any config has, so that a device or a data file given by mistake is not read to its end.
  constexpr std::size_t kMostBytes = 1 << 20;
  std::string text(kMostBytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) refuse("the config file cannot be read", "an error while reading");
  return parse_run_config(text, file.string(), overrides);
}

}  // namespace tandem
