// `launcher sweep`: one config at every combination of some keys' values, to find the best with its noise.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/launch.h"

namespace tandem {

struct SweepOptions {
  LaunchOptions launch;
  std::vector<std::string> axes;       // see sweep_grid.h
  int repeats = 3;                     // of every point
  std::vector<std::string> overrides;  // of all runs
  double budget_minutes = 0.0;         // 0: no limit
  bool fresh = false;                  // see ExperimentOptions
  std::filesystem::path out;           // empty: report.dir/NAME-sweep, so that the same command goes on
};

// Runs the points in turn, without evaluation, each into out/<point>/repeat-<r>/, and writes sweep.json,
// sweep.md and sweep.csv to `out` after every round; the last sweep.md also goes to standard output. A point
// whose run fails is given up and shown as failed. Interrupted and called again, it goes on.
//
// Returns 0, or 1 if a point failed. Throws as Experiment.
int sweep_command(const SweepOptions& options);

}  // namespace tandem
