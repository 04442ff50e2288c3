// Errors: one exception type that says where it came from, and one for bad input that says what to do.
//
// Libraries throw; only a program's main catches, adds the rank and host, prints once and ends the job.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace tandem {

// A failed call or a broken invariant. `library` is who failed ("tandem", "MPI", "CUDA", "cuDNN", …),
// `expression` the source text that failed, `message` the reason in words.
class Error : public std::runtime_error {
 public:
  Error(std::string library, std::string expression, std::string message,
        std::source_location site = std::source_location::current());

  const std::string& library() const { return library_; }
  const std::string& expression() const { return expression_; }
  const std::string& message() const { return message_; }
  std::string site() const;  // "file.cpp:123"

  // The same error, with more to say after its message.
  Error with(const std::string& more) const { return {library_, expression_, message_ + more, site_}; }

  // The whole report. `rank` < 0 leaves rank and host out.
  std::string describe(int rank = -1, const std::string& host = {}) const;

 private:
  std::string library_;
  std::string expression_;
  std::string message_;
  std::source_location site_;
};

// What a user's input did wrong. All five are shown; `where` names a file and line, a key, a flag or a
// variable.
struct InputProblem {
  std::string what;
  std::string where;
  std::string expected;
  std::string found;
  std::string advice;
};

class InputError : public std::runtime_error {
 public:
  explicit InputError(InputProblem problem);
  const InputProblem& problem() const { return problem_; }

 private:
  InputProblem problem_;
};

[[noreturn]] void fail_expectation(const char* expression, std::string message, std::source_location site);

}  // namespace tandem

// Precondition or invariant. The message takes fmt's arguments and says what was expected and what was found:
//   TANDEM_EXPECT(x.dtype() == DType::F32, "conv2d takes f32, got {}", name_of(x.dtype()));
#define TANDEM_EXPECT(condition, ...)                                                                    \
  do {                                                                                                   \
    if (!(condition)) [[unlikely]]                                                                       \
      ::tandem::fail_expectation(#condition, fmt::format(__VA_ARGS__), std::source_location::current()); \
  } while (false)
