// Notes how long each phase before the first step took.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "report/measurement_records.h"

namespace tandem {

// A phase goes from the end of the one before it, the first from the clock's making, so that nothing between
// phases is lost. Used by one thread.
class StartupClock {
 public:
  void finish(std::string phase) {
    const auto now = std::chrono::steady_clock::now();
    phases_.push_back(
        {.phase = std::move(phase), .ms = std::chrono::duration<double, std::milli>(now - begin_).count()});
    begin_ = now;
  }
  const std::vector<StartupPhaseRecord>& phases() const { return phases_; }

 private:
  std::vector<StartupPhaseRecord> phases_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tandem
