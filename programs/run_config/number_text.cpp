#include "run_config/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "run_config/suggestion.h"

namespace tandem {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A text taken apart by the grammar.
struct NumberParts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  std::int64_t exponent = 0;   // clamped to ±kExponentLimit, far outside of what any type holds
  std::string_view unsigned_;  // without the sign, as from_chars wants it
  std::string_view rest;       // what follows the number; empty if the text is one
};

constexpr std::int64_t kExponentLimit = 1'000'000'000;

std::string_view take_digits(std::string_view& text) {
  const auto count =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// The exponent at the start of `text`, if a whole one is there; takes it away.
std::int64_t take_exponent(std::string_view& text) {
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return 0;
  std::string_view after = text.substr(1);
  const bool negative = !after.empty() && after[0] == '-';
  if (!after.empty() && (after[0] == '-' || after[0] == '+')) after.remove_prefix(1);
  const std::string_view digits = take_digits(after);
  if (digits.empty()) return 0;
  std::int64_t value = 0;
  for (const char digit : digits) value = std::min(value * 10 + (digit - '0'), kExponentLimit);
  text = after;
  return negative ? -value : value;
}

// Nothing if `text` does not begin with a number.
std::optional<NumberParts> take_apart(std::string_view text) {
  NumberParts parts;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts.unsigned_ = text;
  parts.whole = take_digits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  parts.exponent = take_exponent(text);
  parts.rest = text;
  return parts;
}

bool has_leading_zero(const NumberParts& parts) {
  return parts.whole.size() > 1 && parts.whole[0] == '0';
}

std::string advice_for(std::string_view text, const std::optional<NumberParts>& parts) {
  std::string word = lower_case(text);
  word.erase(
      std::remove_if(word.begin(), word.end(), [](char c) { return c == '.' || c == '+' || c == '-'; }),
      word.end());
  if (word == "nan" || word == "inf" || word == "infinity") return "write a finite number";
  if (!parts) return "";
  if (parts->whole == "0" && !parts->rest.empty() && (parts->rest[0] == 'x' || parts->rest[0] == 'o')) {
    return "write the number in decimal";
  }
  if (parts->rest.empty()) {  // complete, so only its leading zeros are wrong
    return "remove the leading zeros: some readers take such a number for an octal one";
  }
  if (parts->rest[0] == ',') return "write a decimal point, and nothing between thousands";
  if (parts->rest[0] == '_') return "write the digits without separators";
  return fmt::format("remove \"{}\"", parts->rest);
}

// The parts of a text that is a number, or why it is none.
std::variant<NumberParts, NumberFault> require_number(std::string_view text) {
  const std::optional<NumberParts> parts = take_apart(text);
  if (parts && parts->rest.empty() && !has_leading_zero(*parts)) return *parts;
  return NumberFault{"is not a number", advice_for(text, parts)};
}

}  // namespace

std::variant<double, NumberFault> read_number(std::string_view text) {
  const auto number = require_number(text);
  if (const auto* fault = std::get_if<NumberFault>(&number)) return *fault;
  const auto& parts = std::get<NumberParts>(number);
  double value = 0.0;
  const char* end = parts.unsigned_.data() + parts.unsigned_.size();
  if (std::from_chars(parts.unsigned_.data(), end, value).ec == std::errc::result_out_of_range) {
    return NumberFault{"does not fit into a double-precision number", ""};
  }
  return parts.negative ? -value : value;
}

std::variant<std::int64_t, NumberFault> read_integer(std::string_view text) {
  const auto number = require_number(text);
  if (const auto* fault = std::get_if<NumberFault>(&number)) return *fault;
  const auto& parts = std::get<NumberParts>(number);

  // value = digits × 10^exponent, with neither leading nor trailing zeros in digits: exact, no floating
  // point.
  std::string digits = std::string(parts.whole) + std::string(parts.fraction);
  std::int64_t exponent = parts.exponent - static_cast<std::int64_t>(parts.fraction.size());
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return std::int64_t{0};
  if (exponent < 0) return NumberFault{"is not an integer", ""};
  constexpr std::int64_t kMostDigits = 19;  // of a 64-bit integer
  const NumberFault too_large{"does not fit into a 64-bit integer", ""};
  if (static_cast<std::int64_t>(digits.size()) + exponent > kMostDigits) return too_large;
  digits.append(static_cast<std::size_t>(exponent), '0');
  if (parts.negative) digits.insert(digits.begin(), '-');
  std::int64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    return too_large;
  return value;
}

}  // namespace tandem
