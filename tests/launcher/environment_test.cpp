#include "environment/environment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tandem {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Standard error is a file while it lives, whatever the test itself runs on.
class ErrorToNowhere {
 public:
  ErrorToNowhere() : before_(dup(STDERR_FILENO)) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
  }
  ~ErrorToNowhere() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

 private:
  int before_;
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Environment, AdditionsReplaceVariablesOfTheSameName) {
  const Variable kept("TANDEM_TEST_A", "1");
  const Variable replaced("TANDEM_TEST_B", "2");
  const std::vector<std::string> additions = {"TANDEM_TEST_B=3", "TANDEM_TEST_C="};
  const auto variables = environment_with(additions);
  EXPECT_THAT(variables, Contains("TANDEM_TEST_A=1"));
  EXPECT_THAT(variables, Contains("TANDEM_TEST_B=3"));
  EXPECT_THAT(variables, Not(Contains("TANDEM_TEST_B=2")));
  EXPECT_THAT(variables, Contains("TANDEM_TEST_C="));
}

TEST(Environment, AnEmptyVariableIsSet) {
  const Variable empty("TANDEM_TEST_A", "");
  EXPECT_EQ(environment_variable("TANDEM_TEST_A"), "");
  EXPECT_EQ(environment_variable("TANDEM_TEST_NOT_SET"), std::nullopt);
}

TEST(Terminal, RanksBelowMpirunLearnOfTheTerminalByVariable) {
  const ErrorToNowhere redirected;
  EXPECT_FALSE(error_terminal().connected);
  {
    const Variable columns(kTerminalVariable, "132");
    EXPECT_TRUE(error_terminal().connected);
    EXPECT_EQ(error_terminal().width, 132);
  }
  for (const char* wrong : {"", "0", "-5", "wide", "80x24", "99999999999"}) {
    const Variable columns(kTerminalVariable, wrong);
    EXPECT_FALSE(error_terminal().connected) << wrong;
  }
}

TEST(Terminal, NoColorAndDumbTerminalsAreRespected) {
  const ErrorToNowhere redirected;
  const Variable columns(kTerminalVariable, "80");
  {
    const Variable term("TERM", "xterm");
    EXPECT_TRUE(error_terminal().color);
    const Variable unset("NO_COLOR", "");  // empty means not set, says no-color.org
    EXPECT_TRUE(error_terminal().color);
  }
  {
    const Variable term("TERM", "xterm");
    const Variable no_color("NO_COLOR", "1");
    EXPECT_FALSE(error_terminal().color);
  }
  const Variable term("TERM", "dumb");
  EXPECT_FALSE(error_terminal().color);
}

TEST(ConfigDirectories, BeginInTheWorkingDirectory) {
  EXPECT_EQ(config_directories().front(), "configs");
  EXPECT_TRUE(executable_path().is_absolute());
}

}  // namespace
}  // namespace tandem
