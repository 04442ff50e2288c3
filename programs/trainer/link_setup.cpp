#include "trainer/link_setup.h"

#include "trainer/cuda_setup.h"
#include "trainer/device_setup.h"

namespace tandem {

std::optional<NcclJob> choose_links(RunConfig& config, const RankEnvironment& job,
                                    const std::filesystem::path& directory, const Environment& variables) {
  std::optional<NcclJob> nccl;
  auto mpi_link = config.comm.link;
  if (resolve_device_kind(config) == DeviceKind::Cuda) {
    config = resolve_for_gpus(config, job, visible_gpus());
    if (config.comm.backend == CommConfig::Backend::Nccl) {
      nccl = prepare_nccl(config, job, directory, variables);
    }
    const bool gradients_by_mpi =
        config.comm.backend == CommConfig::Backend::Mpi || config.comm.backend == CommConfig::Backend::Ring;
    if (!gradients_by_mpi) mpi_link = CommConfig::Link::Auto;
  }
  if (job.launched) apply_link(mpi_link, job, variables);
  return nccl;
}

}  // namespace tandem
