// What the programs learn from the process's surroundings: variables, terminal, user, where the program lies.
//
// The only place of the project that reads them; everything below programs/ gets what it needs as arguments.
// May be called from any thread while no thread changes the environment.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem {

// None if it is not set; an empty variable is set.
std::optional<std::string> environment_variable(const std::string& name);

// All of this process's variables.
std::map<std::string, std::string> all_environment_variables();

// This process's variables as "NAME=value", with `additions` in place of those of the same name.
std::vector<std::string> environment_with(std::span<const std::string> additions);

// The launcher sets this variable, to the width, for the trainer that it starts below a terminal: mpirun
// passes what ranks print through pipes, so that they cannot see the terminal that it ends on.
inline constexpr const char* kTerminalVariable = "TANDEM_TERMINAL";

struct Terminal {
  bool connected = false;  // else a file or pipe, which wants whole lines
  int width = 80;          // columns
  bool color = false;      // never if NO_COLOR is set to something (no-color.org) or TERM is "dumb"
};

// Where standard error ends. Asks anew on every call, as users resize their terminals.
Terminal error_terminal();

bool runs_as_root();

// The running program's file, symbolic links resolved. Throws Error if the system does not tell.
std::filesystem::path executable_path();

// A program that only other programs start: beside this one in a build tree, else where it is installed,
// which is returned if it is in neither place.
std::filesystem::path internal_program(const std::string& name);

// Where configs are looked for beside the working directory: its "configs", then the ones that came with this
// program, whether it runs from a build tree in its source tree or installed.
std::vector<std::filesystem::path> config_directories();

}  // namespace tandem
