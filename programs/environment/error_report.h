// How the programs end when something is wrong.
#pragma once

#include <string>

namespace tandem {

// Exit codes of both programs.
inline constexpr int kInputErrorStatus = 2;
inline constexpr int kFailureStatus = 1;

// "error: …" on standard error, in colour where the terminal wants it.
void print_error(const std::string& text);

// Prints the exception in flight and returns the exit status for it. Call within a catch block.
int report_exception();

}  // namespace tandem
