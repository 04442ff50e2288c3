// The one table of all keys. Reading, checking, printing and the reference all follow from it.
//
// A ConfigSchema is bound to one RunConfig: each key points at the member that holds its value. It does not
// own the config, which must outlive it and stay where it is.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "run_config/sections.h"

namespace tandem {

struct FlagType {
  bool* value;
};

struct IntegerType {
  std::variant<int*, std::int64_t*> value;
  std::int64_t least;
  std::int64_t most;
};

struct NumberType {
  double* value;
  double least;
  double most;
  bool above_least = false;  // the bound itself is out of range
  bool below_most = false;
};

struct TextType {
  std::string* value;
  bool is_name = false;  // part of a file name: letters, digits, '.', '_', '-'
};

struct IntegerListType {
  std::vector<int>* value;
  int least;  // of each element
  int most;
  int fewest;  // elements
  int longest;
};

// One of some words; an enumeration in the struct.
struct ChoiceType {
  std::vector<std::string> words;
  std::function<int()> get;  // index into words
  std::function<void(int)> set;
};

using KeyType = std::variant<FlagType, IntegerType, NumberType, TextType, IntegerListType, ChoiceType>;

struct ConfigKey {
  std::string path;  // "optim.lr"
  KeyType type;
  std::string unit;  // "" if it has none
  std::string help;

  // When the key means something: the key that decides it and the rule. Without a rule it always does.
  std::string decided_by;
  bool (*applies)(const RunConfig&) = nullptr;

  // Where the default depends on another key: the default in words, for the reference.
  std::string default_note;
};

struct ConfigSection {
  std::string path;  // "data.augment"
  std::string help;
};

class ConfigSchema {
 public:
  explicit ConfigSchema(RunConfig& config);
  ConfigSchema(const ConfigSchema&) = delete;
  ConfigSchema& operator=(const ConfigSchema&) = delete;

  const std::vector<ConfigKey>& keys() const { return keys_; }              // sections stay together
  const std::vector<ConfigSection>& sections() const { return sections_; }  // "" is the top level
  const RunConfig& config() const { return config_; }

  const ConfigKey* find(std::string_view path) const;  // nullptr: no such key
  bool is_section(std::string_view path) const;
  bool applies(const ConfigKey& key) const { return key.applies == nullptr || key.applies(config_); }

  // The names of the keys and sections right inside a section ("" for the top level).
  std::vector<std::string> names_in(std::string_view section) const;

  // The sections that hold a key or section of this name.
  std::vector<std::string> sections_with(std::string_view name) const;

 private:
  friend class SectionBuilder;

  RunConfig& config_;
  std::vector<ConfigKey> keys_;
  std::vector<ConfigSection> sections_;
};

// "data.augment.flip" -> "data.augment" and "flip"; "seed" -> "" and "seed".
std::pair<std::string, std::string> split_path(std::string_view path);

// The words of decided_by for which the key has a meaning, such as {"resnet8", "resnet20", "resnet"}.
std::vector<std::string> words_it_applies_to(const ConfigKey& key);

}  // namespace tandem
