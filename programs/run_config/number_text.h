// The grammar of numbers in config files and on the command line.
//
//   number  = [+-] (digits [. [digits]] | . digits) [(e|E) [+-] digits]
//   integer = a number whose value is an integer: 1000, 1e3 and 1.5e1, but not 3.5
//
// `1e-4`, `1.0e-4`, `1E-4` and `.0001` are the same number (YAML 1.1 takes some of them for text).
// Hexadecimal, leading zeros (octal to some readers), separators, nan and inf are refused. The locale does
// not matter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace tandem {

struct NumberFault {
  std::string what;    // completes "optim.lr …": "is not a number"
  std::string advice;  // may be empty
};

std::variant<double, NumberFault> read_number(std::string_view text);
std::variant<std::int64_t, NumberFault> read_integer(std::string_view text);

}  // namespace tandem
