// How the ranks of a job reach each other, settled before anything communicates.
#pragma once

#include <filesystem>
#include <optional>

#include "run_config/run_config.h"
#include "trainer/gpu_ranks.h"
#include "trainer/rank_environment.h"

namespace tandem {

// Settles in `config` what depends on the GPUs, and sets the variables by which MPI and NCCL take comm.link:
// they read the environment when they start, so call this before, while no other thread runs. What NCCL was
// told, where it carries the gradients; its log goes to `directory`. Throws InputError for what cannot be.
std::optional<NcclJob> choose_links(RunConfig& config, const RankEnvironment& job,
                                    const std::filesystem::path& directory, const Environment& variables);

}  // namespace tandem
