// The command line as a manual page and as completion for shells, made from the same description that --help
// prints, so that they cannot fall behind it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tandem {

// In roff, for man(1): one page with a section per subcommand.
std::string manual_page(const CLI::App& app);

// A script for bash, which zsh takes too (bashcompinit): subcommands, their options, and files where an
// option takes one.
std::string bash_completion(const CLI::App& app);

}  // namespace tandem
