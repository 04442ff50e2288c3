// Fills the gaps of a template: {{name}} is replaced by a value, and what stands between {{#name}} and
// {{/name}} stays only if that value is not empty. Values are HTML already and are not looked into.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tandem {

using PageValues = std::map<std::string, std::string, std::less<>>;

// Throws Error if a name has no value, so that template and code cannot drift apart, or if a section does not
// end.
std::string fill_template(std::string_view text, const PageValues& values);

}  // namespace tandem
