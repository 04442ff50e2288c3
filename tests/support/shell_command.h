// Runs a command to its end.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace tandem {

struct CommandEnding {
  int exit_code = -1;  // -1: ended by a signal
  std::string output;  // standard output and standard error
};

inline CommandEnding run_command(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1 < /dev/null").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  CommandEnding ending;
  if (pipe == nullptr) return ending;
  std::array<char, 4096> part{};
  while (const auto bytes = fread(part.data(), 1, part.size(), pipe))
    ending.output.append(part.data(), bytes);
  const int status = pclose(pipe);
  ending.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ending;
}

inline constexpr int kTimeoutOfTest = 124;  // of timeout(1): nothing else ended the command

}  // namespace tandem
