#include "environment/error_report.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/error.h"
#include "environment/environment.h"

namespace tandem {

void print_error(const std::string& text) {
  const bool color = error_terminal().color;
  // Where standard error cannot be written either, the exit status is all that is left to tell.
  std::fputs(fmt::format("{}error:{} {}\n", color ? "\033[1;31m" : "", color ? "\033[0m" : "", text).c_str(),
             stderr);
}

int report_exception() {
  try {
    throw;
  } catch (const InputError& error) {
    print_error(error.what());
    return kInputErrorStatus;
  } catch (const Error& error) {
    print_error(error.describe());
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kFailureStatus;
}

}  // namespace tandem
