// Code that runs in a process of its own, to which a test can send signals.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

namespace tandem {

class Forked {
 public:
  // `body` returns the exit status. Exceptions end the process with status 99.
  explicit Forked(const std::function<int()>& body) : process_(fork()) {
    if (process_ != 0) return;
    int status = 99;
    try {
      status = body();
    } catch (...) {  // the status says it
    }
    _exit(status);
  }
  ~Forked() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  void send(int signal) const { kill(process_, signal); }

  // The exit status, or 128 + signal.
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_;
};

// Waits for another process to make the file; false if it does not within half a minute.
inline bool appears(const std::filesystem::path& file) {
  constexpr int kTries = 3000;
  for (int i = 0; i < kTries; ++i) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace tandem
