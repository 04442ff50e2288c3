#include "run_config/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "core/error.h"
#include "run_config/number_text.h"
#include "run_config/suggestion.h"

namespace tandem {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::string range_text(std::int64_t least, std::int64_t most) {
  const bool unlimited =
      most == std::numeric_limits<std::int64_t>::max() || most == std::numeric_limits<int>::max();
  return unlimited ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Text is written plain where every YAML reader takes it for the same text, else in quotes.
std::string text_as_yaml(const std::string& text) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '_';
  };
  const bool plain =
      !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '/') &&
      std::all_of(text.begin(), text.end(), [&](char c) { return is_plain(c) || c == '.' || c == '-'; });
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  const bool is_word = std::find(kWords.begin(), kWords.end(), lower_case(text)) != kWords.end();
  return plain && !is_word ? text : in_quotes(text);
}

std::int64_t integer_value(const IntegerType& type) {
  return std::visit([](const auto* value) { return static_cast<std::int64_t>(*value); }, type.value);
}

bool in_range(const IntegerType& type, std::int64_t value) {
  return value >= type.least && value <= type.most;
}

template <class Float>
bool within_bounds(const NumberType& type, Float value) {
  const auto least = static_cast<Float>(type.least);
  const auto most = static_cast<Float>(type.most);
  const bool enough = type.above_least ? value > least : value >= least;
  const bool little = type.below_most ? value < most : value <= most;
  return enough && little;  // false for a NaN
}

// Training computes in single precision, where 1e-60 is 0 and 0.99999999999 is 1: a number that would turn
// into an excluded bound, or into nothing, is out of range too.
bool in_range(const NumberType& type, double value) {
  const auto single = static_cast<float>(value);
  return within_bounds(type, value) && within_bounds(type, single) && (value == 0.0) == (single == 0.0f);
}

bool element_in_range(const IntegerListType& type, std::int64_t element) {
  return element >= type.least && element <= type.most;
}

bool length_in_range(const IntegerListType& type, std::size_t length) {
  return length >= static_cast<std::size_t>(type.fewest) && length <= static_cast<std::size_t>(type.longest);
}

bool is_name(const std::string& text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
  constexpr std::size_t kLongestName = 128;
  return !text.empty() && text[0] != '.' && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), fits);
}

bool in_range(const TextType& type, const std::string& text) {
  return is_printable_line(text) && (!type.is_name || is_name(text));
}

// Reads one node as a key's value; every refusal goes through refuse().
class Assignment {
 public:
  Assignment(const ConfigKey& key, const YamlNode& node, const std::string& where)
      : key_(key), node_(node), where_(where) {}

  void operator()(const FlagType& type) const {
    const std::string& text = plain_scalar("is neither true nor false");
    if (text == "true" || text == "false") {
      *type.value = text == "true";
      return;
    }
    const std::string word = lower_case(text);
    const bool means_true = word == "yes" || word == "on" || word == "y" || word == "true" || word == "1";
    const bool means_false = word == "no" || word == "off" || word == "n" || word == "false" || word == "0";
    refuse("is neither true nor false", means_true ? "write true" : means_false ? "write false" : "");
  }

  void operator()(const IntegerType& type) const {
    const std::int64_t value = integer();
    if (!in_range(type, value)) refuse("is out of range", "");
    std::visit(
        [&](auto* target) { *target = static_cast<std::remove_reference_t<decltype(*target)>>(value); },
        type.value);
  }

  void operator()(const NumberType& type) const {
    const auto number = read_number(plain_scalar("is not a number"));
    if (const auto* fault = std::get_if<NumberFault>(&number)) refuse(fault->what, fault->advice);
    const double value = std::get<double>(number);
    if (!in_range(type, value)) {
      refuse("is out of range",
             within_bounds(type, value) ? "numbers are single precision: keep further from the bound" : "");
    }
    *type.value = value;
  }

  void operator()(const TextType& type) const {
    if (node_.kind != YamlNode::Kind::Scalar)
      refuse("is not text", node_.kind == YamlNode::Kind::Nothing ? kDelete : "");
    if (!in_range(type, node_.text)) refuse(type.is_name ? "is not a name" : "is not printable text", "");
    *type.value = node_.text;
  }

  void operator()(const IntegerListType& type) const {
    if (node_.kind != YamlNode::Kind::List) refuse("is not a list", "write it in brackets, as in [2, 2, 2]");
    if (!length_in_range(type, node_.items.size())) refuse_length();
    std::vector<int> values;
    for (const YamlNode& item : node_.items) {
      const Assignment element(key_, item, where_);
      const std::int64_t value = element.integer();
      if (!element_in_range(type, value)) element.refuse("has an element out of range", "");
      values.push_back(static_cast<int>(value));
    }
    *type.value = std::move(values);
  }

  void operator()(const ChoiceType& type) const {
    if (node_.kind != YamlNode::Kind::Scalar) {
      refuse("has an unknown value", node_.kind == YamlNode::Kind::Nothing ? kDelete : "");
    }
    const auto found = std::find(type.words.begin(), type.words.end(), node_.text);
    if (found != type.words.end()) {
      type.set(static_cast<int>(found - type.words.begin()));
      return;
    }
    const std::optional<std::string> near = nearest_name(node_.text, type.words);
    refuse("has an unknown value", near ? fmt::format("did you mean \"{}\"?", *near) : "");
  }

 private:
  static constexpr const char* kDelete = "write a value, or delete the line to have the default";

  [[noreturn]] void refuse(const std::string& what, const std::string& advice) const {
    throw InputError({.what = fmt::format("{} {}", key_.path, what),
                      .where = where_,
                      .expected = type_text(key_),
                      .found = found_text(node_),
                      .advice = advice});
  }

  [[noreturn]] void refuse_length() const {
    throw InputError({.what = fmt::format("{} has the wrong number of elements", key_.path),
                      .where = where_,
                      .expected = type_text(key_),
                      .found = fmt::format("{} elements", node_.items.size()),
                      .advice = ""});
  }

  const std::string& plain_scalar(const char* what) const {
    if (node_.kind == YamlNode::Kind::Nothing) refuse(what, kDelete);
    if (node_.kind != YamlNode::Kind::Scalar) refuse(what, "");
    if (node_.quoted) refuse(what, "write it plain, without quotes");
    return node_.text;
  }

  std::int64_t integer() const {
    const auto number = read_integer(plain_scalar("is not an integer"));
    if (const auto* fault = std::get_if<NumberFault>(&number)) {
      refuse(fault->what == "is not a number" ? "is not an integer" : fault->what, fault->advice);
    }
    return std::get<std::int64_t>(number);
  }

  const ConfigKey& key_;
  const YamlNode& node_;
  const std::string& where_;
};

}  // namespace

std::string type_text(const ConfigKey& key) {
  return std::visit(
      Overloaded{[](const FlagType&) -> std::string { return "true or false"; },
                 [](const IntegerType& t) { return "integer " + range_text(t.least, t.most); },
                 [](const NumberType& t) {
                   return fmt::format("number {} {}, {} {}", t.above_least ? "above" : "from", t.least,
                                      t.below_most ? "below" : "at most", t.most);
                 },
                 [](const TextType& t) -> std::string {
                   return t.is_name ? "name of letters, digits, '.', '_' and '-', not starting with '.'"
                                    : "text";
                 },
                 [](const IntegerListType& t) {
                   const std::string count = t.fewest == t.longest
                                                 ? fmt::format("{}", t.fewest)
                                                 : fmt::format("{} to {}", t.fewest, t.longest);
                   return fmt::format("list of {} integers, each {}", count, range_text(t.least, t.most));
                 },
                 [](const ChoiceType& t) {
                   std::vector<std::string> words = t.words;
                   std::replace(words.begin(), words.end(), std::string(), std::string("\"\""));
                   return join_with_or(words);
                 }},
      key.type);
}

std::string value_text(const ConfigKey& key) {
  return std::visit(
      Overloaded{[](const FlagType& t) -> std::string { return *t.value ? "true" : "false"; },
                 [](const IntegerType& t) { return fmt::format("{}", integer_value(t)); },
                 [](const NumberType& t) { return fmt::format("{}", *t.value); },
                 [](const TextType& t) { return text_as_yaml(*t.value); },
                 [](const IntegerListType& t) { return fmt::format("[{}]", fmt::join(*t.value, ", ")); },
                 [](const ChoiceType& t) {
                   const std::string& word = t.words.at(static_cast<std::size_t>(t.get()));
                   return word.empty() ? std::string("\"\"") : word;
                 }},
      key.type);
}

void assign(const ConfigKey& key, const YamlNode& node, const std::string& where) {
  std::visit(Assignment(key, node, where), key.type);
}

void check_range(const ConfigKey& key, const std::string& where) {
  const bool good =
      std::visit(Overloaded{[](const FlagType&) { return true; },
                            [](const IntegerType& t) { return in_range(t, integer_value(t)); },
                            [](const NumberType& t) { return in_range(t, *t.value); },
                            [](const TextType& t) { return in_range(t, *t.value); },
                            [](const IntegerListType& t) {
                              return length_in_range(t, t.value->size()) &&
                                     std::all_of(t.value->begin(), t.value->end(),
                                                 [&](int v) { return element_in_range(t, v); });
                            },
                            [](const ChoiceType& t) { return t.get() < static_cast<int>(t.words.size()); }},
                 key.type);
  if (good) return;
  const bool has_text = !std::holds_alternative<ChoiceType>(key.type);
  throw InputError({.what = fmt::format("{} is out of range", key.path),
                    .where = where,
                    .expected = type_text(key),
                    .found = has_text ? value_text(key) : "no such value",
                    .advice = ""});
}

std::string found_text(const YamlNode& node) {
  constexpr std::size_t kMostCharacters = 60;
  switch (node.kind) {
    case YamlNode::Kind::Nothing:
      return "nothing";
    case YamlNode::Kind::List:
      return "a list";
    case YamlNode::Kind::Map:
      return "a section";
    case YamlNode::Kind::Scalar:
      break;
  }
  if (node.text.size() <= kMostCharacters) return in_quotes(node.text);
  std::size_t cut = kMostCharacters;
  while (cut > 0 && (static_cast<unsigned char>(node.text[cut]) & 0xC0) == 0x80)
    --cut;  // whole characters only
  return in_quotes(node.text.substr(0, cut)) + " …";
}

}  // namespace tandem
