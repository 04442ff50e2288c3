#include "trainer/rank_environment.h"

#include <cstdlib>

#include "comm/mpi_session.h"
#include "core/error.h"

namespace tandem {
namespace {

int number_or(const Environment& variables, const char* name, int otherwise) {
  const auto found = variables.find(name);
  return found == variables.end() ? otherwise : std::atoi(found->second.c_str());
}

LinkWish wish_of(CommConfig::Link link) {
  switch (link) {
    case CommConfig::Link::Auto:
      return LinkWish::Auto;
    case CommConfig::Link::Shm:
      return LinkWish::Shm;
    case CommConfig::Link::Tcp:
      return LinkWish::Tcp;
    case CommConfig::Link::Net:
    case CommConfig::Link::NvLink:
    case CommConfig::Link::Pcie:
      break;
  }
  const char* found = link == CommConfig::Link::Net    ? "net"
                      : link == CommConfig::Link::Pcie ? "pcie"
                                                       : "nvlink";
  throw InputError({.what = "this link is none that CPU ranks can choose",
                    .where = "comm.link",
                    .expected = "auto, shm or tcp",
                    .found = found,
                    .advice = "choose one of these, or run on GPUs"});
}

}  // namespace

// Open MPI's own variables under mpirun; Slurm's where srun started the ranks.
RankEnvironment read_rank_environment(const Environment& variables) {
  RankEnvironment job;
  if (variables.contains("OMPI_COMM_WORLD_SIZE")) {
    job.launched = true;
    job.world_size = number_or(variables, "OMPI_COMM_WORLD_SIZE", 1);
    job.rank = number_or(variables, "OMPI_COMM_WORLD_RANK", 0);
    job.local_rank = number_or(variables, "OMPI_COMM_WORLD_LOCAL_RANK", job.rank);
    job.local_size = number_or(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", job.world_size);
    job.one_host = job.local_size == job.world_size;
  } else if (number_or(variables, "SLURM_STEP_NUM_TASKS", 1) > 1) {
    job.launched = true;
    job.world_size = number_or(variables, "SLURM_STEP_NUM_TASKS", 1);
    job.rank = number_or(variables, "SLURM_PROCID", 0);
    job.one_host = number_or(variables, "SLURM_STEP_NUM_NODES", 1) == 1;
    job.local_rank = number_or(variables, "SLURM_LOCALID", job.rank);
    job.local_size = (job.world_size - 1) / number_or(variables, "SLURM_STEP_NUM_NODES", 1) + 1;
  }
  return job;
}

void apply_link(CommConfig::Link link, const RankEnvironment& job, const Environment& variables) {
  if (job.world_size == 1) return;
  const LinkSite site{.open_mpi_major = open_mpi_major(mpi_library_version()),
                      .one_host = job.one_host,
                      .cross_memory_attach = cross_memory_attach_works()};
  for (const auto& [name, value] : choose_link(wish_of(link), site, variables)) {
    setenv(name.c_str(), value.c_str(), 1);
  }
}

}  // namespace tandem
