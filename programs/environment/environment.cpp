#include "environment/environment.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/error.h"

namespace tandem {
namespace {

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// Columns, as the launcher wrote them; none if the variable holds something else.
std::optional<int> columns_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int columns = 0;
  const char* end = text->data() + text->size();
  const auto [rest, failed] = std::from_chars(text->data(), end, columns);
  if (failed != std::errc() || rest != end || columns <= 0) return std::nullopt;
  return columns;
}

bool color_wanted() {
  return environment_variable("NO_COLOR").value_or("").empty() &&
         environment_variable("TERM").value_or("dumb") != "dumb";
}

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::map<std::string, std::string> all_environment_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = name_of(text);
    variables.emplace(name, text.size() > name.size() ? text.substr(name.size() + 1) : std::string_view());
  }
  return variables;
}

std::vector<std::string> environment_with(std::span<const std::string> additions) {
  std::vector<std::string> result(additions.begin(), additions.end());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const auto same_name = [entry](const std::string& other) { return name_of(other) == name_of(*entry); };
    if (std::none_of(additions.begin(), additions.end(), same_name)) result.emplace_back(*entry);
  }
  return result;
}

Terminal error_terminal() {
  Terminal terminal;
  if (isatty(STDERR_FILENO) != 0) {
    terminal.connected = true;
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  } else if (const auto columns = columns_of(environment_variable(kTerminalVariable))) {
    terminal.connected = true;
    terminal.width = *columns;
  }
  terminal.color = terminal.connected && color_wanted();
  return terminal;
}

bool runs_as_root() {
  return geteuid() == 0;
}

std::filesystem::path executable_path() {
  std::error_code failed;
  auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw Error("Linux", "readlink(\"/proc/self/exe\")", failed.message());
  return path;
}

std::filesystem::path internal_program(const std::string& name) {
  const auto bin = executable_path().parent_path();
  std::error_code missing;
  if (std::filesystem::is_regular_file(bin / name, missing)) return bin / name;
  return (bin / TANDEM_INTERNAL_PROGRAMS / name).lexically_normal();
}

std::vector<std::filesystem::path> config_directories() {
  const auto bin = executable_path().parent_path();
  std::vector<std::filesystem::path> directories = {"configs"};
  for (const auto* beside : {"../../configs", "../share/tandem/configs"}) {
    auto directory = (bin / beside).lexically_normal();
    std::error_code missing;  // of either: then they are not the same
    if (!std::filesystem::equivalent(directory, directories.front(), missing))
      directories.push_back(std::move(directory));
  }
  return directories;
}

}  // namespace tandem
