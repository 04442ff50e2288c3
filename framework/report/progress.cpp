#include "report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "report/run_summary.h"
#include "report/text_table.h"

namespace tandem {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";

struct Part {
  std::string text;
  int importance;  // the lowest goes first
};

std::string rate_text(double per_s, const std::string& item) {
  const auto rate = per_s < 10.0 ? fmt::format("{:.2f}", per_s) : with_thousands(std::llround(per_s));
  return fmt::format("{} {}/s", rate, item);
}

std::vector<Part> parts_of(const Progress& p) {
  std::vector<Part> parts = {{fmt::format("epoch {}/{}", p.epoch, p.epochs), 5},
                             {fmt::format("step {}/{}", p.step, p.steps), 4}};
  if (p.loss) parts.push_back({fmt::format("loss {:.3f}", *p.loss), 1});
  if (p.items_per_s && std::isfinite(*p.items_per_s)) parts.push_back({rate_text(*p.items_per_s, p.item), 2});
  if (p.exposed_share) parts.push_back({fmt::format("exposed {:.1f} %", *p.exposed_share * 100.0), 0});
  if (p.seconds_left) parts.push_back({format_duration(*p.seconds_left) + " left", 3});
  return parts;
}

std::string joined(const std::vector<Part>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "  ") + part.text;
  return text;
}

}  // namespace

std::string format_progress(const Progress& progress, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 1));
  auto parts = parts_of(progress);
  std::string text = joined(parts);
  while (text.size() > columns && parts.size() > 1) {
    parts.erase(std::min_element(parts.begin(), parts.end(),
                                 [](const Part& a, const Part& b) { return a.importance < b.importance; }));
    text = joined(parts);
  }
  return text.substr(0, columns);
}

std::string format_epoch(const EpochRecord& epoch, int epochs, const std::string& item,
                         const std::optional<double>& exposed_share) {
  auto text = fmt::format("epoch {}/{}: {:.2f} s", epoch.epoch + 1, epochs, epoch.wall_s);
  if (const auto rate = items_per_s(epoch)) text += "  " + rate_text(*rate, item);
  if (epoch.train_loss) text += fmt::format("  training loss {:.4f}", *epoch.train_loss);
  if (epoch.eval_accuracy) text += fmt::format("  accuracy {:.2f} %", *epoch.eval_accuracy * 100.0);
  if (exposed_share) text += fmt::format("  exposed {:.1f} %", *exposed_share * 100.0);
  return text;
}

std::string format_duration(double seconds) {
  constexpr double kLongest = 1e9;
  if (!std::isfinite(seconds) || seconds > kLongest) return "?";
  const auto whole = std::llround(std::max(seconds, 0.0));
  const auto hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::optional<double> estimate_seconds_left(std::int64_t done, std::int64_t total, double elapsed_s) {
  if (done <= 0 || elapsed_s < 0.0) return std::nullopt;
  return elapsed_s / static_cast<double>(done) * static_cast<double>(std::max<std::int64_t>(total - done, 0));
}

ProgressLine::ProgressLine(const ProgressOptions& options, Output output)
    : options_(options), output_(std::move(output)) {}

void ProgressLine::update(const Progress& progress, double now_s, int width) {
  last_ = progress;
  last_is_shown_ = false;
  const double interval_s = options_.terminal ? options_.terminal_interval_s : options_.log_interval_s;
  if (shown_at_s_ && now_s - *shown_at_s_ < interval_s) return;
  shown_at_s_ = now_s;
  show(width);
}

void ProgressLine::show(int width) {
  last_is_shown_ = true;
  constexpr int kNoLimit = 1 << 20;
  if (!options_.terminal) {
    output_(format_progress(*last_, kNoLimit) + '\n');
    return;
  }
  // The last column stays free: writing to it moves some terminals to the next line. Blanks cover what a
  // longer line left behind, as far as the terminal is wide now.
  const int usable = std::max(width - 1, 1);
  const std::string text = format_progress(*last_, usable);
  const auto covered = std::min(columns_shown_, static_cast<std::size_t>(usable));
  const std::string blanks(covered > text.size() ? covered - text.size() : 0, ' ');
  columns_shown_ = text.size();
  std::string line = "\r";
  if (options_.color) line += kBold;
  line += text;
  if (options_.color) line += kPlain;
  output_(line + blanks);
}

void ProgressLine::finish(int width) {
  if (!last_) return;
  if (!last_is_shown_) show(width);
  if (options_.terminal) output_("\n");
  last_.reset();
  shown_at_s_.reset();
  columns_shown_ = 0;
}

void ProgressLine::print(std::string_view line) {
  clear();
  output_(std::string(line) + '\n');
  last_.reset();
}

void ProgressLine::clear() {
  if (columns_shown_ == 0) return;
  output_('\r' + std::string(columns_shown_, ' ') + '\r');
  columns_shown_ = 0;
}

}  // namespace tandem
