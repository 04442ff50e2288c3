// The progress line of long work: "epoch 1/3  step 120/468  loss 0.512  1,234 img/s  exposed 3.1 %  0:42
// left".
//
// What is shown (format_progress), when it is shown and how it replaces the last one (ProgressLine) and where
// it goes (the caller's function) are apart, so that each can be tested. Knows no clock, no terminal and no
// environment: the caller passes the time, the width and whether colours are wanted. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "report/run_record.h"

namespace tandem {

struct Progress {
  int epoch = 1;  // counted from 1
  int epochs = 1;
  std::int64_t step = 0;  // done in this epoch
  std::int64_t steps = 0;
  std::optional<double> loss;
  std::optional<double> items_per_s;
  std::string item = "img";
  std::optional<double> exposed_share;
  std::optional<double> seconds_left;
};

// Without a line break. Where `width` columns do not hold all, the least important parts go first (exposed
// share, loss, throughput, time left), then the end is cut.
std::string format_progress(const Progress& progress, int width);

// "epoch 1/3: 4.32 s  2,841 img/s  training loss 0.5123  accuracy 87.10 %  exposed 3.7 %", without what is
// not known. `exposed_share` is of the steps of the epoch after warm-up.
std::string format_epoch(const EpochRecord& epoch, int epochs, const std::string& item,
                         const std::optional<double>& exposed_share);

std::string format_duration(double seconds);  // "0:42", "12:05", "3:07:00"; "?" if not finite

// Time left if the rest goes at the pace so far; none before there is a pace.
std::optional<double> estimate_seconds_left(std::int64_t done, std::int64_t total, double elapsed_s);

struct ProgressOptions {
  bool terminal = false;  // else a log: whole lines, one every log_interval_s
  bool color = false;     // on a terminal
  double terminal_interval_s = 0.1;
  double log_interval_s = 10.0;
};

class ProgressLine {
 public:
  using Output = std::function<void(std::string_view)>;  // writes and flushes

  ProgressLine(const ProgressOptions& options, Output output);

  // Shows `progress` if the interval has passed since the last one shown; the first is shown at once. `now_s`
  // is a steady clock's; `width` the terminal's at this moment, since users resize it (not used for a log).
  void update(const Progress& progress, double now_s, int width = 80);
  // Shows the last state whatever the interval and ends the line. Nothing happens if there was none.
  void finish(int width = 80);
  // Prints a line that stays, in the place of the progress so far.
  void print(std::string_view line);
  // Takes the line off the terminal so that something else can be printed there.
  void clear();

 private:
  void show(int width);

  ProgressOptions options_;
  Output output_;
  std::optional<double> shown_at_s_;
  std::optional<Progress> last_;
  bool last_is_shown_ = false;
  std::size_t columns_shown_ = 0;
};

}  // namespace tandem
