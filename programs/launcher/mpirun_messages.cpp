#include "launcher/mpirun_messages.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem {
namespace {

constexpr std::size_t kShortestRule = 20;
constexpr int kLongestFrame = 40;  // lines; what goes on longer is no paragraph of Open MPI's

// Words with which paragraphs begin that tell nothing new, in Open MPI 4 and 5.
constexpr std::array<std::string_view, 4> kRepetitions = {
    "MPI_ABORT was invoked", "Primary job", "mpirun detected that one or more processes exited with non-zero",
    "prterun detected that one or more processes exited with non-zero"};

// "[host:123] 1 more process has sent help message help-mpi-api.txt / mpi-abort" and the advice below it.
// The last is mpirun's trouble with such a message when several ranks send one.
constexpr std::array<std::string_view, 4> kEchoes = {"help message help-mpi-api.txt",
                                                     "orte_base_help_aggregate", "prte_base_help_aggregate",
                                                     "util/show_help.c"};

bool is_rule(std::string_view line) {
  return line.size() > kShortestRule && line.find_first_not_of("-\r\n") == std::string_view::npos;
}

bool may_become_rule_or_echo(std::string_view line) {
  return line.front() == '[' || line.find_first_not_of('-') == std::string_view::npos;
}

bool repeats_us(std::string_view frame) {
  const auto text = frame.find_first_not_of("-\r\n ");
  if (text == std::string_view::npos) return false;
  frame.remove_prefix(text);
  return std::ranges::any_of(kRepetitions,
                             [frame](std::string_view words) { return frame.starts_with(words); });
}

bool is_echo(std::string_view line) {
  return line.starts_with('[') && std::ranges::any_of(kEchoes, [line](std::string_view words) {
           return line.find(words) != std::string_view::npos;
         });
}

}  // namespace

void MpirunMessages::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    bytes.remove_prefix(part.size());
    if (!line_held_) {
      output_(part);
    } else {
      line_ += part;
      if (frame_.empty() && part.back() != '\n' && !may_become_rule_or_echo(line_)) {
        output_(line_);
        line_.clear();
        line_held_ = false;
      }
    }
    if (part.back() != '\n') continue;
    if (line_held_) take_line();
    line_held_ = true;
  }
}

void MpirunMessages::take_line() {
  const auto line = std::exchange(line_, {});
  if (is_rule(line)) {
    frame_ += line;
    if (frame_lines_++ > 0) end_frame();
  } else if (!frame_.empty()) {
    frame_ += line;
    if (++frame_lines_ > kLongestFrame) end_frame();
  } else if (!is_echo(line)) {
    output_(line);
  }
}

void MpirunMessages::end_frame() {
  if (!repeats_us(frame_)) output_(frame_);
  frame_.clear();
  frame_lines_ = 0;
}

void MpirunMessages::finish() {
  if (!line_.empty()) take_line();
  if (!frame_.empty()) end_frame();
}

}  // namespace tandem
