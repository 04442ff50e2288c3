#include "environment/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "core/error.h"

namespace tandem {

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one, since those below it are open by now.
    [[maybe_unused]] const int opened = open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

void finish_standard_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw InputError({.what = "The output could not be written.",
                    .where = "standard output",
                    .expected = "a terminal, pipe or file with space left",
                    .found = std::strerror(errno),
                    .advice = "send it elsewhere"});
}

}  // namespace tandem
