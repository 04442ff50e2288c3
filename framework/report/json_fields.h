// Structs to JSON and back, both from one list of fields per struct, so that they cannot disagree.
//
// A struct takes part by a function beside it:
//   template <class Visitor, SameAs<Point> T>
//   void visit_fields(Visitor&& field, T& point) { field("x", point.x); field("y", point.y); }
//
// Reading is strict: every field must be there, of its type, and no other; a violation is an InputError that
// names the file and the JSON path ("timing.ranks[1].step_ms[17]"). Whole numbers are counts, and below 0 an
// error. Null stands for an optional without value, and "nan", "inf", "-inf" for a number that is not finite:
// JSON has no such numbers, and a diverged run must still leave its record.
//
// For .cpp files of folders that write JSON, so that no header brings the JSON library to other folders.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tandem {

using Json = nlohmann::ordered_json;

template <class T, class U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

// Parses one JSON value. Throws InputError naming `file` and the line for text that is not JSON, and for an
// object with the same key twice.
Json parse_json(std::string_view text, const std::string& file);

// Objects indented by two, one line per field; arrays of plain values on one line. Bytes that are not UTF-8
// become U+FFFD. Ends with a line feed.
std::string render_json(const Json& value);

// A value being read and where it stands. Parents live on the stack of the reading calls.
struct JsonPlace {
  const Json* value;
  const std::string* file;
  const JsonPlace* parent = nullptr;
  std::string_view key = {};  // in the parent, if that is an object
  std::size_t index = 0;      // in the parent, if that is an array

  std::string path() const;
  [[noreturn]] void fail(std::string what, std::string expected) const;  // found: the value itself
  JsonPlace member(std::string_view name) const;                         // fails if it is missing
  JsonPlace element(std::size_t i) const { return {&(*value)[i], file, this, {}, i}; }
};

// Fails unless the value is an object whose "schema" is `schema`: before anything else of the file is
// believed.
void require_schema(const JsonPlace& place, std::string_view schema);
void require_known_keys(const JsonPlace& place, const std::vector<std::string_view>& known);

double read_number(const JsonPlace& place);
std::int64_t read_count(const JsonPlace& place, std::int64_t largest);
Json write_number(double value);

template <class T>
struct JsonForm {  // a struct with visit_fields
  static Json write(const T& value) {
    Json object = Json::object();
    visit_fields(
        [&object](const char* name, const auto& field) {
          object[name] = JsonForm<std::remove_cvref_t<decltype(field)>>::write(field);
        },
        value);
    return object;
  }
  static void read(const JsonPlace& place, T& value) {
    if (!place.value->is_object()) place.fail("A value has the wrong type.", "an object");
    std::vector<std::string_view> known;
    visit_fields(
        [&](const char* name, auto& field) {
          known.push_back(name);
          JsonForm<std::remove_cvref_t<decltype(field)>>::read(place.member(name), field);
        },
        value);
    require_known_keys(place, known);
  }
};

template <>
struct JsonForm<bool> {
  static Json write(bool value) { return value; }
  static void read(const JsonPlace& place, bool& value) {
    if (!place.value->is_boolean()) place.fail("A value has the wrong type.", "true or false");
    value = place.value->get<bool>();
  }
};

template <>
struct JsonForm<std::string> {
  static Json write(const std::string& value) { return value; }
  static void read(const JsonPlace& place, std::string& value) {
    if (!place.value->is_string()) place.fail("A value has the wrong type.", "a string");
    value = place.value->get<std::string>();
  }
};

template <>
struct JsonForm<double> {
  static Json write(double value) { return write_number(value); }
  static void read(const JsonPlace& place, double& value) { value = read_number(place); }
};

template <std::signed_integral T>
struct JsonForm<T> {
  static Json write(T value) { return value; }
  static void read(const JsonPlace& place, T& value) {
    value = static_cast<T>(read_count(place, std::numeric_limits<T>::max()));
  }
};

template <class T>
struct JsonForm<std::optional<T>> {
  static Json write(const std::optional<T>& value) {
    return value ? JsonForm<T>::write(*value) : Json(nullptr);
  }
  static void read(const JsonPlace& place, std::optional<T>& value) {
    value.reset();
    if (!place.value->is_null()) JsonForm<T>::read(place, value.emplace());
  }
};

template <class T>
struct JsonForm<std::vector<T>> {
  static Json write(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(JsonForm<T>::write(value));
    return array;
  }
  static void read(const JsonPlace& place, std::vector<T>& values) {
    if (!place.value->is_array()) place.fail("A value has the wrong type.", "an array");
    values.resize(place.value->size());
    for (std::size_t i = 0; i < values.size(); ++i) JsonForm<T>::read(place.element(i), values[i]);
  }
};

template <class T>
struct JsonForm<std::map<std::string, T>> {
  static Json write(const std::map<std::string, T>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) object[key] = JsonForm<T>::write(value);
    return object;
  }
  static void read(const JsonPlace& place, std::map<std::string, T>& values) {
    if (!place.value->is_object()) place.fail("A value has the wrong type.", "an object");
    values.clear();
    for (const auto& item : place.value->items())
      JsonForm<T>::read(place.member(item.key()), values[item.key()]);
  }
};

}  // namespace tandem
