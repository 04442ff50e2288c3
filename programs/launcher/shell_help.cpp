#include "launcher/shell_help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace tandem {
namespace {

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

// Text in which roff changes nothing: no escapes, no requests at the beginning of a line.
std::string literal(std::string_view text) {
  std::string result = ".nf\n";
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\' || c == '-') result += '\\';
    result += c == '\\' ? 'e' : c;
    line_begins = c == '\n';
  }
  if (!line_begins) result += '\n';
  return result + ".fi\n";
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  const auto& name = app.get_name();
  std::string page = fmt::format(".TH {} 1 \"\" \"Tandem\" \"User Commands\"\n", upper(name));
  page += fmt::format(".SH NAME\n{} \\- {}\n", name, app.get_description());
  page += ".SH DESCRIPTION\n" + literal(app.help());
  for (const auto* command : subcommands_of(app))
    page += fmt::format(".SH \"{} {}\"\n{}", upper(name), upper(command->get_name()),
                        literal(command->help(name)));
  return page;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const auto* command : subcommands_of(app)) {
    names.push_back(command->get_name());
    cases +=
        fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(options_of(*command), " "));
  }
  return fmt::format(
      "# bash completion for {0}. For zsh, before it: autoload -U +X bashcompinit && bashcompinit\n"
      "_{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words=\n"
      "  case ${{COMP_WORDS[1]:-}} in\n"
      "{1}"
      "    *) words=\"{2} {3}\" ;;\n"
      "  esac\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then words=\"{2} {3}\"; fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}}\n"
      "complete -o default -F _{0} {0} ./{0}\n",
      app.get_name(), cases, fmt::join(names, " "), fmt::join(options_of(app), " "));
}

}  // namespace tandem
