// Commands as a user would type them.
#pragma once

#include <span>
#include <string>

namespace tandem {

// One line for a POSIX shell. Words of letters, digits and "%+,-./:=@_" stay as they are.
std::string shell_quoted(std::span<const std::string> command);

}  // namespace tandem
