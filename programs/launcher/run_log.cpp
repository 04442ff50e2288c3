#include "launcher/run_log.h"

namespace tandem {
namespace {

constexpr char kEscape = '\x1b';

// "ESC [ digits and semicolons letter" ends with a byte of this range (ECMA-48, 5.4).
bool ends_sequence(char c) {
  return c >= '@' && c <= '~';
}

}  // namespace

void PlainLines::write(std::string_view bytes) {
  for (const char c : bytes) take(c);
}

void PlainLines::take(char c) {
  switch (state_) {
    case State::Escape:
      state_ = c == '[' ? State::Sequence : State::Text;
      return;
    case State::Sequence:
      if (ends_sequence(c)) state_ = State::Text;
      return;
    case State::AfterReturn:
      if (c == '\r') return;
      state_ = State::Text;
      if (c != '\n') line_.clear();  // what follows overwrites it; before a line feed, it is a line's end
      break;
    case State::Text:
      break;
  }
  if (c == kEscape) {
    state_ = State::Escape;
  } else if (c == '\r') {
    state_ = State::AfterReturn;
  } else if (c == '\n') {
    end_line();
  } else {
    line_ += c;
  }
}

void PlainLines::end_line() {
  const auto last = line_.find_last_not_of(' ');  // blanks that covered a longer line
  line_.resize(last == std::string::npos ? 0 : last + 1);
  line_ += '\n';
  output_(line_);
  line_.clear();
}

void PlainLines::finish() {
  if (!line_.empty()) end_line();
  state_ = State::Text;
}

}  // namespace tandem
