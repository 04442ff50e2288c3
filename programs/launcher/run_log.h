// The log of a run whose progress line also goes to a terminal.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem {

// Turns what is meant for a terminal into lines for a file: a line that overwrote itself by carriage returns
// is kept as it last was, colours and other escape sequences are left out. Bytes may come cut anywhere. One
// thread at a time.
class PlainLines {
 public:
  using Output = std::function<void(std::string_view)>;  // gets whole lines with their line feed

  explicit PlainLines(Output output) : output_(std::move(output)) {}

  void write(std::string_view bytes);
  void finish();  // ends a last line that has no line feed

 private:
  enum class State { Text, AfterReturn, Escape, Sequence };

  void take(char c);
  void end_line();

  Output output_;
  std::string line_;
  State state_ = State::Text;
};

}  // namespace tandem
