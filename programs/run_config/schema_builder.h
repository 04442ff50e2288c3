// The words in which the table of keys is written. For schema_*.cpp only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "run_config/schema.h"

namespace tandem {

inline constexpr int kIntMax = std::numeric_limits<int>::max();
inline constexpr std::int64_t kManySamples = 1'000'000'000'000;  // still exact in a double

inline KeyType flag(bool& value) {
  return FlagType{&value};
}

inline KeyType integer(int& value, int least, int most = kIntMax) {
  return IntegerType{&value, least, most};
}

inline KeyType integer(std::int64_t& value, std::int64_t least, std::int64_t most) {
  return IntegerType{&value, least, most};
}

inline KeyType number(double& value, double least, double most) {
  return NumberType{&value, least, most};
}
inline KeyType number_above(double& value, double least, double most) {
  return NumberType{&value, least, most, true, false};
}
inline KeyType number_below(double& value, double least, double most) {
  return NumberType{&value, least, most, false, true};
}
inline KeyType number_inside(double& value, double least, double most) {
  return NumberType{&value, least, most, true, true};
}

template <class Enum>
KeyType choice(Enum& value,
               std::initializer_list<std::pair<const char*, std::type_identity_t<Enum>>> options) {
  ChoiceType type;
  std::vector<Enum> values;
  for (const auto& [word, meaning] : options) {
    type.words.emplace_back(word);
    values.push_back(meaning);
  }
  type.get = [&value, values] {
    return static_cast<int>(std::find(values.begin(), values.end(), value) - values.begin());
  };
  type.set = [&value, values](int index) { value = values[static_cast<std::size_t>(index)]; };
  return type;
}

// Adds the keys of one section, in the order in which they are printed.
class SectionBuilder {
 public:
  SectionBuilder(ConfigSchema& schema, std::string path, std::string help)
      : schema_(schema), path_(std::move(path)) {
    schema_.sections_.push_back({path_, std::move(help)});
  }

  SectionBuilder& key(const std::string& name, KeyType type, std::string help) {
    schema_.keys_.push_back({.path = path_.empty() ? name : path_ + "." + name,
                             .type = std::move(type),
                             .unit = "",
                             .help = std::move(help),
                             .decided_by = "",
                             .default_note = ""});
    return *this;
  }

  // These describe the key just added.
  SectionBuilder& unit(std::string text) {
    schema_.keys_.back().unit = std::move(text);
    return *this;
  }
  SectionBuilder& only_when(bool (*applies)(const RunConfig&), std::string decided_by) {
    schema_.keys_.back().applies = applies;
    schema_.keys_.back().decided_by = std::move(decided_by);
    return *this;
  }
  SectionBuilder& default_note(std::string text) {
    schema_.keys_.back().default_note = std::move(text);
    return *this;
  }

 private:
  ConfigSchema& schema_;
  std::string path_;
};

// The parts of the table.
void add_model_keys(ConfigSchema& schema, ModelConfig& model);
void add_data_keys(ConfigSchema& schema, DataConfig& data);
void add_train_keys(ConfigSchema& schema, TrainConfig& train);
void add_optim_keys(ConfigSchema& schema, OptimConfig& optim);
void add_precision_keys(ConfigSchema& schema, PrecisionConfig& precision);
void add_comm_keys(ConfigSchema& schema, CommConfig& comm);
void add_device_keys(ConfigSchema& schema, RunConfig& config);  // device, gpu
void add_report_keys(ConfigSchema& schema, ReportConfig& report);
void add_measure_keys(ConfigSchema& schema, MeasureConfig& measure);

}  // namespace tandem
