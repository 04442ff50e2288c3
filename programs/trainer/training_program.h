// One rank of a training run, from the configuration to the files it leaves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi_session.h"
#include "comm/termination_signal.h"
#include "run_config/run_config.h"
#include "train/startup_clock.h"
#include "trainer/gpu_ranks.h"
#include "trainer/rank_environment.h"
#include "trainer/run_folder.h"

namespace tandem {

struct TrainingRequest {
  RunConfig config;
  RankEnvironment job;
  std::optional<NcclJob> nccl;        // where NCCL carries the gradients
  std::string command_line;           // for the record
  StartupClock* startup = nullptr;    // runs since the program began; never null
  const RunFolder* folder = nullptr;  // what rank 0 leaves its files in; others have none
};

// Runs to the end. `session` is null for a rank alone. Rank 0 leaves record.json, run.md and config.yaml in
// the directory and prints the run's page to standard output. Throws what went wrong.
void run_training(const TrainingRequest& request, const MpiSession* session,
                  const TerminationSignal& termination);

}  // namespace tandem
