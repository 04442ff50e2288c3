#include "run_config/suggestion.h"

#include <algorithm>
#include <vector>

namespace tandem {
namespace {

constexpr std::size_t kLongestWord = 64;  // longer ones are no typing errors, and the distance is quadratic
constexpr std::size_t kShortestPrefix = 3;

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> before_last(columns);
  std::vector<int> last(columns);
  std::vector<int> row(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < columns; ++j) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[columns - 1];
}

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  const std::string wanted = lower_case(word);
  int best = std::max(1, static_cast<int>(wanted.size()) / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::string name = lower_case(candidate);
    const int distance = edit_distance(wanted, name);
    if (distance < best && distance < static_cast<int>(name.size())) {
      best = distance;
      found = candidate;
    }
  }
  if (found) return found;
  for (const std::string& candidate : candidates) {
    const std::string name = lower_case(candidate);
    const bool long_enough = std::min(name.size(), wanted.size()) >= kShortestPrefix;
    if (long_enough && (name.starts_with(wanted) || wanted.starts_with(name))) return candidate;
  }
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::string join_with_or(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace tandem
