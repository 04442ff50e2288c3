#include "core/error.h"

#include <string_view>
#include <utility>

namespace tandem {
namespace {

std::string base_name(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string render(const InputProblem& p) {
  std::string text = p.what;
  const auto add = [&text](const char* label, const std::string& value) {
    if (!value.empty()) text += fmt::format("\n  {:<9} {}", label, value);
  };
  add("where:", p.where);
  add("expected:", p.expected);
  add("found:", p.found);
  add("to do:", p.advice);
  return text;
}

}  // namespace

Error::Error(std::string library, std::string expression, std::string message, std::source_location site)
    : std::runtime_error(fmt::format("{} [{}: {} at {}:{}]", message, library, expression,
                                     base_name(site.file_name()), site.line())),
      library_(std::move(library)),
      expression_(std::move(expression)),
      message_(std::move(message)),
      site_(site) {}

std::string Error::site() const {
  return fmt::format("{}:{}", base_name(site_.file_name()), site_.line());
}

std::string Error::describe(int rank, const std::string& host) const {
  std::string text =
      fmt::format("{}\n  in:       {} ({})\n  call:     {}", message_, library_, site(), expression_);
  if (rank >= 0) text += fmt::format("\n  rank:     {} on {}", rank, host);
  return text;
}

InputError::InputError(InputProblem problem)
    : std::runtime_error(render(problem)), problem_(std::move(problem)) {}

void fail_expectation(const char* expression, std::string message, std::source_location site) {
  throw Error("tandem", expression, std::move(message), site);
}

}  // namespace tandem
