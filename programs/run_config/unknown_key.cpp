#include "run_config/unknown_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.h"
#include "run_config/suggestion.h"

namespace tandem {
namespace {

// What other trainers call our keys, where the spelling does not lead there.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kOtherNames = {{
    {"learning_rate", "optim.lr"},
    {"batch_size", "train.micro_batch"},
    {"batch", "train.micro_batch"},
    {"optimizer", "optim.name"},
    {"lr_scheduler", "optim.schedule"},
    {"gradient_accumulation_steps", "train.accumulation"},
    {"grad_clip", "optim.clip_norm"},
    {"max_grad_norm", "optim.clip_norm"},
    {"n_layer", "model.layers"},
    {"n_head", "model.heads"},
    {"n_embd", "model.channels"},
    {"block_size", "model.context"},
    {"dataset", "data.kind"},
    {"output_dir", "report.dir"},
}};

std::optional<std::string> by_other_name(const std::string& name) {
  const auto found = std::find_if(kOtherNames.begin(), kOtherNames.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  if (found == kOtherNames.end()) return std::nullopt;
  return std::string(found->second);
}

std::string section_text(const std::string& section) {
  return section.empty() ? "at the top level" : "in section " + section;
}

// "lr" in the wrong place: "lr belongs in section optim".
std::string right_place(const ConfigSchema& schema, const std::string& name) {
  std::vector<std::string> sections = schema.sections_with(name);
  if (sections.empty()) return "";
  if (sections.front().empty()) return fmt::format("\"{}\" belongs at the top level", name);
  return fmt::format("\"{}\" belongs in section {}", name, join_with_or(sections));
}

std::string advice_for(const ConfigSchema& schema, const std::string& path) {
  const auto [section, name] = split_path(path);
  if (std::string text = right_place(schema, name); !text.empty()) return text;
  if (const auto meant = by_other_name(name)) return fmt::format("did you mean {}?", *meant);
  const std::vector<std::string> siblings = schema.names_in(section);
  if (const auto near = nearest_name(name, siblings)) return fmt::format("did you mean \"{}\"?", *near);
  std::vector<std::string> everywhere;
  for (const ConfigKey& key : schema.keys()) everywhere.push_back(split_path(key.path).second);
  const auto near = nearest_name(name, everywhere);
  return near ? fmt::format("did you mean \"{}\"? {}", *near, right_place(schema, *near)) : "";
}

}  // namespace

void refuse_unknown_key(const ConfigSchema& schema, const std::string& path, const std::string& where) {
  std::string unknown = path;  // the outermost part that does not exist
  while (!schema.is_section(split_path(unknown).first)) unknown = split_path(unknown).first;
  const auto [section, name] = split_path(unknown);
  throw InputError({.what = fmt::format("unknown key \"{}\" {}", name, section_text(section)),
                    .where = where,
                    .expected = join_with_or(schema.names_in(section)),
                    .found = fmt::format("\"{}\"", unknown),
                    .advice = advice_for(schema, unknown)});
}

}  // namespace tandem
