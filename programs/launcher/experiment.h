// A series of runs that can be interrupted: cells (links of a comparison, points of a sweep) run in turn,
// round by round, and what an earlier call finished is not run again.
//
// Each run has a folder, out/CELL/repeat-N, with the trainer's files, log.txt and launch.json. The last says
// what was run: resolved config, ranks and hosts, the trainer's bits, the variables that steer MPI and NCCL.
// A run counts as done only if all of it is the same now; a folder whose launch.json says otherwise is
// refused before anything starts, so results of different programs or settings are never mixed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/launch.h"
#include "launcher/run_plan.h"
#include "report/launch_record.h"
#include "report/run_record.h"

namespace tandem {

struct ExperimentCell {
  std::string label;                   // in messages
  std::string folder;                  // below the experiment's; no two cells have the same
  std::filesystem::path config;        // file
  std::vector<std::string> overrides;  // "comm.link=tcp", …; the run's name is added
  bool single = false;                 // one run, in the cell's folder itself
};

struct ExperimentOptions {
  Launch launch;  // its config is the cells' affair
  int repeats = 1;
  std::filesystem::path out;
  bool fresh = false;              // forget the runs that an earlier call left in `out`
  bool keep_going = false;         // a cell whose run fails is given up, the others go on
  std::optional<double> budget_s;  // begin no run that would probably end later
  // Where the experiment is part of a longer one, for "run 3 of 10".
  int runs_before = 0;
  int runs_after = 0;
  std::string afterwards;  // in the forecast: ", then the accuracy run"
};

class Experiment {
 public:
  // Reads and checks every config and looks at what is there already. Throws InputError for a mistake in any
  // of them, and if a folder holds something else than it should.
  Experiment(ExperimentOptions options, std::vector<ExperimentCell> cells);

  // Runs what is not done. `after_round`, if given, is called whenever a round is complete. Throws RunFailed
  // if a run fails (unless keep_going) or a signal was passed on to one; what was finished stays.
  void run(const std::function<void()>& after_round = {});

  // Of cell `cell` by repeat; none if it has not run, or has failed.
  const std::vector<std::optional<RunRecord>>& records(std::size_t cell) const { return records_[cell]; }
  const std::string& failure(std::size_t cell) const { return failures_[cell]; }  // "exit status 2", or empty
  bool within_budget() const { return within_budget_; }
  std::vector<LaunchRecord> launches() const;  // of the finished runs

 private:
  struct RunSpec {
    std::string title;  // "tcp, repeat 2"
    std::size_t cell = 0;
    std::vector<std::string> overrides;
    std::filesystem::path folder;
    LaunchRecord launch;
    bool done = false;
  };

  RunSpec make_spec(const PlannedRun& run) const;
  void look_for_earlier(RunSpec& spec) const;
  void start(std::size_t index);
  RunRecord train(RunSpec& spec);
  Launch launch_of(const ExperimentCell& cell) const;
  bool affordable(std::size_t index, double elapsed_s) const;
  std::vector<std::optional<double>> seconds() const;

  ExperimentOptions options_;
  std::vector<ExperimentCell> cells_;
  std::vector<PlannedRun> plan_;
  std::vector<RunSpec> specs_;  // by plan
  std::vector<std::vector<std::optional<RunRecord>>> records_;
  std::vector<std::string> failures_;
  bool within_budget_ = true;
};

}  // namespace tandem
