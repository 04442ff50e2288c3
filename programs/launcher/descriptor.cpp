#include "launcher/descriptor.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace tandem {

void fail_call(const char* call) {
  throw Error("Linux", call, std::strerror(errno));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_call("pipe2");
  return {.reading = Descriptor(ends[0]), .writing = Descriptor(ends[1])};
}

std::string_view read_some(int from, std::array<char, 4096>& buffer) {
  for (;;) {
    const auto count = read(from, buffer.data(), buffer.size());
    if (count >= 0) return {buffer.data(), static_cast<std::size_t>(count)};
    if (errno != EINTR) fail_call("read");
  }
}

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = write(to, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace tandem
