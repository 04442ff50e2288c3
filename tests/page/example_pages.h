// Every kind of page, each with the number of charts that it draws.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/scaling.h"
#include "report/sweep_result.h"

namespace tandem {

// Two keys, 2 x 2 points of two repeats; the best is a=2 b=y, a=1 b=y failed.
SweepResult example_sweep();

// One, two and four ranks with the same batch per rank: 100, 180 and 300 images/s.
ScalingResult example_scaling();

struct ExamplePage {
  std::string name;
  std::string html;
  int charts = 0;
};
std::vector<ExamplePage> example_pages();

}  // namespace tandem
