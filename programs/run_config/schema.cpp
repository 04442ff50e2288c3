#include "run_config/schema.h"

#include <algorithm>

#include "core/error.h"
#include "run_config/schema_builder.h"

namespace tandem {

ConfigSchema::ConfigSchema(RunConfig& config) : config_(config) {
  SectionBuilder(*this, "", "Top level.")
      .key("seed", integer(config.seed, 0, std::numeric_limits<std::int64_t>::max()),
           "Seed of initial weights, order, augmentation and dropout.");
  add_model_keys(*this, config.model);
  add_data_keys(*this, config.data);
  add_train_keys(*this, config.train);
  add_optim_keys(*this, config.optim);
  add_precision_keys(*this, config.precision);
  add_comm_keys(*this, config.comm);
  add_device_keys(*this, config);
  add_report_keys(*this, config.report);
  add_measure_keys(*this, config.measure);
}

std::pair<std::string, std::string> split_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, dot)), std::string(path.substr(dot + 1))};
}

const ConfigKey* ConfigSchema::find(std::string_view path) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const ConfigKey& key) { return key.path == path; });
  return found == keys_.end() ? nullptr : &*found;
}

bool ConfigSchema::is_section(std::string_view path) const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [&](const ConfigSection& s) { return s.path == path; });
}

std::vector<std::string> ConfigSchema::names_in(std::string_view section) const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& path) {
    const auto [parent, name] = split_path(path);
    if (parent == section && !name.empty()) names.push_back(name);
  };
  for (const ConfigKey& key : keys_) add(key.path);
  for (const ConfigSection& s : sections_) add(s.path);
  return names;
}

std::vector<std::string> ConfigSchema::sections_with(std::string_view name) const {
  std::vector<std::string> found;
  for (const ConfigSection& section : sections_) {
    const std::vector<std::string> names = names_in(section.path);
    if (std::find(names.begin(), names.end(), name) != names.end()) found.push_back(section.path);
  }
  return found;
}

std::vector<std::string> words_it_applies_to(const ConfigKey& key) {
  std::vector<std::string> words;
  if (key.applies == nullptr) return words;
  RunConfig trial;
  const ConfigSchema schema(trial);
  const ConfigKey* decider = schema.find(key.decided_by);
  TANDEM_EXPECT(decider != nullptr, "key {} is decided by {}, which does not exist", key.path,
                key.decided_by);
  const auto& choice = std::get<ChoiceType>(decider->type);
  for (std::size_t i = 0; i < choice.words.size(); ++i) {
    choice.set(static_cast<int>(i));
    if (key.applies(trial)) words.push_back(choice.words[i]);
  }
  return words;
}

}  // namespace tandem
