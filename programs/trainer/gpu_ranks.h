// How the GPU ranks of a job reach each other, settled before MPI and NCCL start.
#pragma once

#include <filesystem>
#include <string>

#include "comm/nccl_link.h"
#include "run_config/run_config.h"
#include "trainer/rank_environment.h"

namespace tandem {

// The configuration with what depends on the GPUs settled. `gpus` is how many this host shows.
//   comm.backend  auto becomes nccl for several ranks, or mpi where ranks share a GPU
//   gpu.graph     false where gradients are staged through MPI: a CUDA graph cannot hold MPI's work
// Throws InputError, naming what can be done, if there are more ranks than GPUs without gpu.share, or if
// backend and ranks do not fit each other.
RunConfig resolve_for_gpus(RunConfig config, const RankEnvironment& job, int gpus);

// The link that NCCL is to take. Throws InputError naming `key` for links of CPU ranks.
NcclLinkWish nccl_wish_of(CommConfig::Link link, const char* key);

struct NcclJob {
  NcclLinkWish wish = NcclLinkWish::Auto;
  PeerPath peers = PeerPath::Unknown;
  std::filesystem::path log_file;  // of this rank
  Environment variables;           // all NCCL_* of this rank
};

// Sets the variables by which NCCL takes comm.link and writes its log into `directory`, which it makes. Call
// after resolve_for_gpus(), while no other thread runs: it changes the environment. Throws InputError for
// what choose_nccl_link() refuses.
NcclJob prepare_nccl(const RunConfig& config, const RankEnvironment& job,
                     const std::filesystem::path& directory, const Environment& users);

// What must be equal on all ranks before NCCL starts: its variables but for the place of the log, and what
// joins the GPUs.
std::string agreement_facts(const NcclJob& job);

// What joins the GPUs, in words: "nvlink", "pcie", "none", "unknown".
const char* name_of(PeerPath peers);

}  // namespace tandem
