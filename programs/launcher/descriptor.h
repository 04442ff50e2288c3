// Open files and pipes of Linux. Internal to child_process.cpp.
#pragma once

#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

namespace tandem {

// Throws Error with the system's reason for the call that has just failed.
[[noreturn]] void fail_call(const char* call);

// Owns an open file descriptor; move-only, -1 when empty.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int raw) : raw_(raw) {}
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Descriptor() { close(); }

  int raw() const { return raw_; }
  bool is_open() const { return raw_ >= 0; }
  void close() {
    if (raw_ >= 0) ::close(std::exchange(raw_, -1));
  }

 private:
  int raw_ = -1;
};

struct Pipe {
  Descriptor reading;
  Descriptor writing;
};

Pipe make_pipe();

// The bytes that are there, waiting for the first; none at the end.
std::string_view read_some(int from, std::array<char, 4096>& buffer);

// A terminal that has gone away or a full disk must not end the run, so failures are let go.
void write_all(int to, std::string_view bytes);

}  // namespace tandem
