// The training run's line on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "report/progress.h"
#include "train/training_job.h"

namespace tandem {

struct ProgressScale {
  std::string item;                 // "img" or "tok"
  std::int64_t items_per_step = 0;  // over all ranks
  std::int64_t total_steps = 0;
  std::int64_t epochs = 0;
  std::int64_t warmup_steps = 0;  // in no share
};

// Beside the line of the moment, one line per finished epoch stays. Only one rank has one. The rate is that
// of training alone; the time left counts evaluation, too.
class ProgressReporter {
 public:
  explicit ProgressReporter(ProgressScale scale);
  void show(const JobProgress& now);
  void show(const EpochRecord& finished);
  void finish();

 private:
  ProgressScale scale_;
  ProgressLine line_;
  double exposed_ms_ = 0.0;  // with the next, of this rank's steps of the epoch
  double step_ms_ = 0.0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tandem
