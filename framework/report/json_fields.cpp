#include "report/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

constexpr const char* kRewrite = "The file was cut off, edited or written by another version: make it again.";

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
}

std::string shortened(const Json& value) {
  if (value.is_object()) return fmt::format("an object with {} fields", value.size());
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  std::string text = dump(value);
  constexpr std::size_t kLongest = 60;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "…";
}

bool is_plain(const Json& array) {
  return std::none_of(array.begin(), array.end(), [](const Json& value) { return value.is_structured(); });
}

void render(const Json& value, std::size_t indent, std::string& text) {
  if (!value.is_structured() || value.empty()) {
    text += dump(value);
    return;
  }
  const bool one_line = value.is_array() && is_plain(value);
  const std::string line_break = one_line ? std::string() : '\n' + std::string(indent + 2, ' ');
  const char* separator = "";
  text += value.is_object() ? '{' : '[';
  for (const auto& item : value.items()) {
    text += separator + line_break;
    if (value.is_object()) text += dump(Json(item.key())) + ": ";
    render(item.value(), indent + 2, text);
    separator = one_line ? ", " : ",";
  }
  if (!one_line) text += '\n' + std::string(indent, ' ');
  text += value.is_object() ? '}' : ']';
}

// The parser keeps the last of two equal keys without a word; this throws instead.
class UniqueKeys {
 public:
  explicit UniqueKeys(const std::string& file) : file_(file) {}

  void see(nlohmann::detail::parse_event_t event, const Json& parsed) {
    using Event = nlohmann::detail::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(parsed.get<std::string>()).second)
      throw InputError({.what = "A file holds the same key twice.",
                        .where = file_,
                        .expected = "every key once per object",
                        .found = shortened(parsed),
                        .advice = kRewrite});
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> open_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  try {
    UniqueKeys keys(file);
    return Json::parse(text.begin(), text.end(), [&keys](int, auto event, const Json& parsed) {
      keys.see(event, parsed);
      return true;
    });
  } catch (const Json::exception& error) {
    const auto* parse_error = dynamic_cast<const Json::parse_error*>(&error);
    const auto byte = parse_error ? std::min(parse_error->byte, text.size()) : 0;
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    throw InputError({.what = "A file is not valid JSON.",
                      .where = fmt::format("{}:{}", file, line),
                      .expected = "one complete JSON value",
                      .found = text.empty() ? "an empty file" : error.what(),
                      .advice = kRewrite});
  }
}

std::string render_json(const Json& value) {
  std::string text;
  render(value, 0, text);
  return text + '\n';
}

std::string JsonPlace::path() const {
  if (!parent) return {};
  const std::string above = parent->path();
  if (parent->value->is_array()) return fmt::format("{}[{}]", above, index);
  return above.empty() ? std::string(key) : fmt::format("{}.{}", above, key);
}

void JsonPlace::fail(std::string what, std::string expected) const {
  const std::string at = path();
  throw InputError({.what = std::move(what),
                    .where = at.empty() ? *file : fmt::format("{}: {}", *file, at),
                    .expected = std::move(expected),
                    .found = shortened(*value),
                    .advice = kRewrite});
}

JsonPlace JsonPlace::member(std::string_view name) const {
  const auto found = value->find(std::string(name));
  if (found == value->end()) {
    const JsonPlace missing{value, file, this, name};
    missing.fail("A field is missing.", fmt::format("a field \"{}\"", name));
  }
  return {&*found, file, this, name};
}

void require_schema(const JsonPlace& place, std::string_view schema) {
  if (!place.value->is_object()) place.fail("A file holds something else than expected.", "an object");
  const JsonPlace found = place.member("schema");
  if (*found.value != std::string(schema))
    found.fail("A file has another schema than this program reads.", fmt::format("\"{}\"", schema));
}

void require_known_keys(const JsonPlace& place, const std::vector<std::string_view>& known) {
  for (const auto& item : place.value->items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      place.member(item.key()).fail("A field is not part of the schema.", "no field of this name");
}

double read_number(const JsonPlace& place) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Json& value = *place.value;
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  place.fail("A value has the wrong type.", "a number, or \"nan\", \"inf\", \"-inf\"");
}

Json write_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0.0 ? "inf" : "-inf";
}

std::int64_t read_count(const JsonPlace& place, std::int64_t largest) {
  const Json& value = *place.value;
  // Unsigned first: the parser holds every whole number from 0 up as unsigned, 2^63 and above too.
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(largest))
    return static_cast<std::int64_t>(value.get<std::uint64_t>());
  place.fail("A value has the wrong type or is out of range.",
             fmt::format("a whole number from 0 to {}", largest));
}

}  // namespace tandem
