// `launcher run`: trains one config on this machine, on other hosts, or within a Slurm job.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/launch.h"

namespace tandem {

struct RunOptions {
  LaunchOptions launch;
  std::vector<std::string> overrides;
  std::filesystem::path out;  // empty: report.dir/report.name of the config, as the trainer has it
  bool dry_run = false;
  std::filesystem::path sbatch;  // write a batch script here instead of starting anything; empty: do not
  int minutes = 60;              // that it asks Slurm for
};

// Prints where ranks go and the command (on standard error, or on standard output if that is all there is to
// do), runs it with what it prints shown and kept in log.txt, and returns the launcher's exit status. Throws
// InputError if the config, a host, the trainer or mpirun is not right, before anything is started, and
// RunFailed for a run that did not end well.
int run_command(const RunOptions& options);

}  // namespace tandem
