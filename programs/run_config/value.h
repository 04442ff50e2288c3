// One key's value: from YAML, to YAML, and within its range.
#pragma once

#include <string>
#include <string_view>

#include "run_config/schema.h"
#include "run_config/yaml_reader.h"

namespace tandem {

// What a key takes, in words: "number above 0, at most 1000".
std::string type_text(const ConfigKey& key);

// The value as YAML text.
std::string value_text(const ConfigKey& key);

// Sets the key's member to what is written in `node`. Throws InputError, naming `where`, if that is not of
// the key's type or out of its range; the member may then hold either value.
void assign(const ConfigKey& key, const YamlNode& node, const std::string& where);

// Throws InputError if the present value is out of range. REQUIRES `where` to say who set it.
void check_range(const ConfigKey& key, const std::string& where);

// A node as an error shows it: its text in quotes, "a list", "a section", "nothing".
std::string found_text(const YamlNode& node);

}  // namespace tandem
