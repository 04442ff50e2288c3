#include "environment/shell_quoting.h"

#include <string_view>

namespace tandem {
namespace {

constexpr std::string_view kPlainCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";

std::string quoted_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlainCharacters) == std::string_view::npos)
    return std::string(word);
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += R"('\'')";  // end the quotes, one quote of its own, begin again
    else
      text += c;
  }
  return text + '\'';
}

}  // namespace

std::string shell_quoted(std::span<const std::string> command) {
  std::string line;
  for (const auto& word : command) {
    if (!line.empty()) line += ' ';
    line += quoted_word(word);
  }
  return line;
}

}  // namespace tandem
