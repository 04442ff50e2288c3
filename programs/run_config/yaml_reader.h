// A strict subset of YAML as a tree that remembers where everything was written.
//
// Built from yaml-cpp's event stream and not from its Node, because Node keeps the last of two equal keys
// without a word and loses the position of keys. Not accepted: duplicate keys, anchors, aliases, merge keys,
// tags, a second document, keys that are not plain names. A config is short: it can be written out, and then
// says what it means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run_config/yaml_text.h"

namespace tandem {

struct YamlEntry;

struct YamlNode {
  enum class Kind { Nothing, Scalar, List, Map };

  Kind kind = Kind::Nothing;
  TextPosition at;
  std::string text;                // Scalar
  bool quoted = false;             // Scalar: "1" and '1' are text, 1 is a number
  std::vector<YamlNode> items;     // List
  std::vector<YamlEntry> entries;  // Map, in the order written
};

struct YamlEntry {
  std::string key;
  TextPosition key_at;
  YamlNode value;
};

// The document in `bytes`; Kind::Nothing if there is none. `file_name` appears in errors.
// Throws InputError; whatever the bytes are, nothing else.
YamlNode read_yaml(std::string_view bytes, const std::string& file_name);

}  // namespace tandem
