// What a program of the golden tests computes on; each program has an implementation of golden_device().
#pragma once

#include <functional>
#include <string>

#include "support/training_device.h"

namespace tandem {

struct GoldenDevice {
  std::string missing;                   // why there is nothing to compute on; empty: there is
  std::function<TrainingDevice()> make;  // the host can address its memory
  // Differences allowed, of a tensor's largest value. A real mistake, a wrong axis or a missing term, is off
  // by 1e-2 or more.
  double forward, statistics, gradients, updates;
};

GoldenDevice golden_device();

}  // namespace tandem
