// "Did you mean …?": the name a user most likely meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

// Edits that turn one word into the other: insert, delete, replace, or swap neighbours (optimal string
// alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidate that is near enough to `word` to be what was meant: at most a third of its letters differ,
// not counting case, or one begins with the other. The first of several equally near ones.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> candidates);

// ASCII letters only; the locale does not matter.
std::string lower_case(std::string_view text);

// "a, b or c"; "" for none.
std::string join_with_or(std::span<const std::string> words);

}  // namespace tandem
