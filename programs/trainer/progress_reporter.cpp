#include "trainer/progress_reporter.h"

#include <cstdio>
#include <utility>

#include "environment/environment.h"

namespace tandem {
namespace {

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressReporter::ProgressReporter(ProgressScale scale)
    : scale_(std::move(scale)),
      line_({.terminal = error_terminal().connected, .color = error_terminal().color}, write_to_stderr) {}

void ProgressReporter::show(const JobProgress& now) {
  if (now.total_step > scale_.warmup_steps && now.timing.step_ms && now.timing.exposed_ms) {
    exposed_ms_ += *now.timing.exposed_ms;
    step_ms_ += *now.timing.step_ms;
  }
  const auto elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  line_.update({.epoch = static_cast<int>(now.epoch) + 1,
                .epochs = static_cast<int>(scale_.epochs),
                .step = now.step,
                .steps = now.epoch_steps,
                .loss = now.loss,
                .items_per_s = static_cast<double>(now.total_step * scale_.items_per_step) / now.trained_s,
                .item = scale_.item,
                .exposed_share = now.exposed_share,
                .seconds_left = estimate_seconds_left(now.total_step, scale_.total_steps, elapsed_s)},
               elapsed_s, error_terminal().width);
}

void ProgressReporter::show(const EpochRecord& finished) {
  const auto share = step_ms_ > 0.0 ? std::optional(exposed_ms_ / step_ms_) : std::nullopt;
  line_.print(format_epoch(finished, static_cast<int>(scale_.epochs), scale_.item, share));
  exposed_ms_ = step_ms_ = 0.0;
}

void ProgressReporter::finish() {
  line_.finish(error_terminal().width);
}

}  // namespace tandem
