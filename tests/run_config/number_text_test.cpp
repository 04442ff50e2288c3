#include "run_config/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tandem {
namespace {

double number(std::string_view text) {
  const auto result = read_number(text);
  return std::holds_alternative<double>(result) ? std::get<double>(result)
                                                : std::numeric_limits<double>::quiet_NaN();
}

NumberFault number_fault(std::string_view text) {
  const auto result = read_number(text);
  return std::holds_alternative<double>(result) ? NumberFault{"accepted", ""} : std::get<NumberFault>(result);
}

std::string integer(std::string_view text) {
  const auto result = read_integer(text);
  return std::holds_alternative<NumberFault>(result) ? std::get<NumberFault>(result).what
                                                     : std::to_string(std::get<std::int64_t>(result));
}

TEST(ReadNumber, EverySpellingOfANumberIsThatNumber) {
  for (const char* text :
       {"1e-4", "1.0e-4", "1E-4", ".0001", "0.0001", "+1e-4", "1e-04", "10e-5", "0.1e-3", "1.e-4"}) {
    EXPECT_EQ(number(text), 1e-4) << text;
  }
  for (const char* text : {"1e3", "1000", "1E+3", "1000.", "1000.0", ".1e4", "+1000"})
    EXPECT_EQ(number(text), 1000.0) << text;
  EXPECT_EQ(number("-2.5"), -2.5);
  EXPECT_EQ(number("0"), 0.0);
  EXPECT_EQ(number("0.0"), 0.0);
  EXPECT_EQ(number("4.9e-324"), 4.9e-324);
  EXPECT_EQ(number("1.7976931348623157e308"), 1.7976931348623157e308);
}

TEST(ReadNumber, EverythingElseIsRefused) {
  for (const char* text :
       {"",     " ",    "-",     "+",        ".",        "e",    "e5",   ".e5",  "1e",    "1e+",  "1e-4x",
        "x1",   "1,5",  "1 000", "1_000",    "1.2.3",    "--1",  "+-1",  "1-",   "1e1.5", "0x10", "0o7",
        "0b1",  "010",  "-01",   "00",       "1f",       "1.0f", "1:30", "nan",  "NaN",   ".nan", "inf",
        "-inf", ".inf", "-.Inf", "infinity", "INFINITY", "1e4 ", " 1",   "true", "１"}) {
    EXPECT_EQ(number_fault(text).what, "is not a number") << '"' << text << '"';
    EXPECT_EQ(integer(text), "is not a number") << '"' << text << '"';
  }
  for (const char* text : {"1e999", "-1e999", "1e-999", "1e99999999999999999999"}) {
    EXPECT_EQ(number_fault(text).what, "does not fit into a double-precision number") << text;
  }
}

TEST(ReadNumber, TellsWhatToWriteInstead) {
  EXPECT_EQ(number_fault("1,5").advice, "write a decimal point, and nothing between thousands");
  EXPECT_EQ(number_fault("1_000").advice, "write the digits without separators");
  EXPECT_EQ(number_fault("0x10").advice, "write the number in decimal");
  EXPECT_EQ(number_fault("010").advice,
            "remove the leading zeros: some readers take such a number for an octal one");
  EXPECT_EQ(number_fault("1e-4x").advice, "remove \"x\"");
  EXPECT_EQ(number_fault("-.inf").advice, "write a finite number");
  EXPECT_EQ(number_fault("fast").advice, "");
}

TEST(ReadInteger, TakesANumberOnlyIfItIsExactlyAnInteger) {
  for (const char* text : {"1000", "1e3", "1E3", "+1000", "1000.0", "1.0e3", "1.", ".1e4", "100000e-2"}) {
    EXPECT_EQ(integer(text), text == std::string_view("1.") ? "1" : "1000") << text;
  }
  EXPECT_EQ(integer("1.5e1"), "15");
  EXPECT_EQ(integer("-3"), "-3");
  EXPECT_EQ(integer("0"), "0");
  EXPECT_EQ(integer("-0.0"), "0");
  EXPECT_EQ(integer("0e999999999999999999999"), "0");
  for (const char* text : {"3.5", "1e-3", ".5", "1.55e1", "1e-99999999999999999999"}) {
    EXPECT_EQ(integer(text), "is not an integer") << text;
  }
}

// 2^53 + 1 has no double; a reader that goes through one would change it.
TEST(ReadInteger, IsExactUpToTheEndsOfTheType) {
  EXPECT_EQ(integer("9007199254740993"), "9007199254740993");
  EXPECT_EQ(integer("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(integer("9.223372036854775807e18"), "9223372036854775807");
  EXPECT_EQ(integer("-9223372036854775808"), "-9223372036854775808");
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "1e19", "1e999999999999999999999",
                           "99999999999999999999"}) {
    EXPECT_EQ(integer(text), "does not fit into a 64-bit integer") << text;
  }
}

}  // namespace
}  // namespace tandem
