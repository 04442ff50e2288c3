// `launcher compare`: configs over several links, with a speedup table of each config as the result.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/launch.h"

namespace tandem {

struct CompareOptions {
  LaunchOptions launch;                // its config is not read
  std::vector<std::string> configs;    // files or names, at least one
  std::vector<std::string> links;      // see link_choice.h
  int repeats = 3;                     // of every link
  std::vector<std::string> overrides;  // of all runs
  int emulate_ranks = 0;               // one rank on a GPU stands for so many on every link; 0: real ranks
  bool accuracy_run = false;
  std::vector<std::string> accuracy_overrides;  // of the accuracy runs, after all others
  bool fresh = false;                           // see ExperimentOptions
  std::filesystem::path out;                    // empty: a new folder in the first config's report.dir
  std::string command_line;                     // for the record: how to do it again
};

// Trains every config over every link `repeats` times, interleaved, without evaluation, each into
// out/<link>/repeat-<r>/ (of several configs, out/<config>/<link>/repeat-<r>/); then, if asked for, each
// config once on the first link for the accuracy, with the whole data and all steps of the config, into
// out/accuracy/. Writes compare.json, .md, .csv and .html beside the links' folders, the tables to
// standard output and everything else to standard error. All configs are checked before the first run. Called
// again with the same `out`, it goes on where it stopped; tables of a folder that cannot be gone on with stay
// as they are.
//
// Throws InputError for wrong input and runs that cannot be compared, and RunFailed if a run ends with an
// error, without a record or by a signal passed on to it; records of the runs before it stay. If an accuracy
// run fails, the comparison without it is already written.
void compare_command(const CompareOptions& options);

}  // namespace tandem
