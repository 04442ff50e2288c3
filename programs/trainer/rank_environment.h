// What the launcher that started this process says of the job, before MPI starts.
#pragma once

#include <string>

#include "comm/link.h"
#include "run_config/run_config.h"

namespace tandem {

struct RankEnvironment {
  bool launched = false;  // by mpirun or srun; else this process is alone
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the ranks of this host
  int local_size = 1;
  bool one_host = true;
};

RankEnvironment read_rank_environment(const Environment& variables);

// Sets the variables by which Open MPI takes `link`. Call before MPI starts. Throws InputError
// if the user's own variables contradict the config, or if the link is none for CPU ranks.
void apply_link(CommConfig::Link link, const RankEnvironment& job, const Environment& variables);

}  // namespace tandem
