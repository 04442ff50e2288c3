// One run of a job with what is kept of it: log.txt and launch.json in the run's folder, whatever becomes of
// the job.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launcher/child_process.h"
#include "launcher/launch.h"
#include "report/launch_record.h"

namespace tandem {

struct RecordedRun {
  std::string title;
  std::vector<std::string> command;
  std::map<std::string, std::string> identity;
  std::filesystem::path folder;  // exists
  bool show_output = false;      // standard output of the job also on this process's
};

struct RunOutcome {
  ChildResult ended;
  LaunchRecord launch;  // as launch.json has it
};

// Throws as run_child(); InputError if launch.json cannot be written.
RunOutcome run_recorded(const RecordedRun& run);

// What the launcher ends with when a job did with `ended`: 128 + signal if one was passed on, 2 for wrong
// input, 75 for a rank that waited too long, 128 + signal for a job that a signal ended, 1 for all else.
// mpirun has dozens of codes of its own, which would say nothing to anybody.
int exit_status_for(const ChildResult& ended);

// "was interrupted by signal 2", "failed with exit status 3"
std::string how_it_ended(const ChildResult& ended);

}  // namespace tandem
