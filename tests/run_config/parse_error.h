// What a config text, with overrides, is refused with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "run_config/run_config.h"

namespace tandem {

using Overrides = std::vector<std::string>;

// All fields empty if the text is accepted. Other exceptions than InputError fail the test by passing
// through.
inline InputProblem parse_problem(std::string_view text, const Overrides& overrides = {}) {
  try {
    parse_run_config(text, "x.yaml", overrides);
  } catch (const InputError& error) {
    return error.problem();
  }
  return {};
}

inline std::string parse_error(std::string_view text, const Overrides& overrides = {}) {
  try {
    parse_run_config(text, "x.yaml", overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace tandem
