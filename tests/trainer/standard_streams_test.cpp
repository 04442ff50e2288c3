#include "environment/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace tandem {
namespace {

// The number that the next file gets in a process that was started with these streams closed.
int next_number_with_closed(const std::vector<int>& streams) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int stream : streams) close(stream);
    open_standard_streams();
    _exit(open("/dev/null", O_RDONLY));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(StandardStreams, NoFileTakesTheirPlace) {
  for (const auto& closed : {std::vector<int>{}, {0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}})
    EXPECT_GT(next_number_with_closed(closed), STDERR_FILENO);
}

}  // namespace
}  // namespace tandem
