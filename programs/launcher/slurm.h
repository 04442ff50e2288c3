// The same job under Slurm: srun's line, and a batch script around it. Pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tandem {

struct SlurmRequest {
  int nodes = 1;
  int ranks_per_node = 1;
  int cores_per_rank = 1;
  int gpus_per_node = 0;
  bool bind = true;
  std::vector<std::string> environment;  // "NAME=value", of every rank
  std::vector<std::string> extra;        // the user's own arguments for srun; they come last, so they win
  std::vector<std::string> program;
};

// srun starts the ranks through PMIx, which Open MPI's library understands. All GPUs of a node stay visible
// to all of its ranks (--gpu-bind=none): peers that cannot see each other's GPU cannot copy between them.
std::vector<std::string> srun_line(const SlurmRequest& request);

struct BatchJob {
  SlurmRequest job;
  std::string name;                      // of the job
  std::filesystem::path folder;          // of the results, where Slurm's log goes too
  std::filesystem::path working_folder;  // that relative paths of the job begin in
  int minutes = 60;
};

// A script for sbatch that asks for what the line needs and runs it. The folder must be there when it starts.
std::string sbatch_script(const BatchJob& batch);

}  // namespace tandem
