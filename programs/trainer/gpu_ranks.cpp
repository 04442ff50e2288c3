#include "trainer/gpu_ranks.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/error.h"
#include "trainer/cuda_setup.h"

namespace tandem {
namespace {

using Backend = CommConfig::Backend;

bool staged(Backend backend) {
  return backend == Backend::Mpi || backend == Backend::Ring;
}

void refuse_too_many_ranks(const RunConfig& config, const RankEnvironment& job, int gpus) {
  if (job.local_size <= gpus || config.gpu.share) return;
  throw InputError(
      {.what = "there are more ranks on this host than GPUs",
       .where = "mpirun -np",
       .expected = fmt::format("at most {} rank{}, one per GPU", gpus, gpus == 1 ? "" : "s"),
       .found = fmt::format("{} ranks", job.local_size),
       .advice = "start fewer ranks; let ranks share a GPU with --set gpu.share=true; or let one rank stand "
                 "for several with --set comm.backend=emulated"});
}

void refuse_backend(const RunConfig& config, const RankEnvironment& job, int gpus) {
  const auto refuse = [&](const char* what, const char* expected, const char* advice) {
    throw InputError({.what = what,
                      .where = "comm.backend",
                      .expected = expected,
                      .found = config_value(config, "comm.backend"),
                      .advice = advice});
  };
  const auto backend = config.comm.backend;
  if (backend == Backend::Emulated && job.world_size > 1) {
    refuse("with an emulated link, one rank stands for all", "one rank, or another backend",
           "start the trainer without mpirun; comm.emulate_ranks says how many it stands for");
  }
  if (backend == Backend::Nccl && job.local_size > gpus) {
    refuse("NCCL takes one GPU per rank, and these ranks share", "auto or mpi with gpu.share: true",
           "take comm.backend out");
  }
  if (staged(backend) && job.world_size > 1 && !config.gpu.share) {
    refuse("this backend stages what GPUs exchange through host memory, which is slow",
           "auto or nccl, or gpu.share: true", "set gpu.share: true if that is wanted");
  }
  if (backend == Backend::Single && job.world_size > 1) {
    refuse("the ranks of a job must reach each other", "auto, nccl or mpi", "take comm.backend out");
  }
}

// NCCL reads the environment; nobody else of this process has started a thread yet.
void set_variable(const std::string& name, const std::string& value) {
  TANDEM_EXPECT(setenv(name.c_str(), value.c_str(), 1) == 0, "cannot set {}", name);
}

}  // namespace

RunConfig resolve_for_gpus(RunConfig config, const RankEnvironment& job, int gpus) {
  refuse_too_many_ranks(config, job, gpus);
  auto& backend = config.comm.backend;
  if (backend == Backend::Auto && job.world_size > 1) {
    backend = job.local_size > gpus ? Backend::Mpi : Backend::Nccl;
  }
  refuse_backend(config, job, gpus);
  if (staged(backend) && job.world_size > 1) config.gpu.graph = false;
  return config;
}

NcclLinkWish nccl_wish_of(CommConfig::Link link, const char* key) {
  switch (link) {
    case CommConfig::Link::Auto:
      return NcclLinkWish::Auto;
    case CommConfig::Link::NvLink:
      return NcclLinkWish::NvLink;
    case CommConfig::Link::Pcie:
      return NcclLinkWish::Pcie;
    case CommConfig::Link::Net:
      return NcclLinkWish::Net;
    case CommConfig::Link::Shm:
    case CommConfig::Link::Tcp:
      break;
  }
  throw InputError({.what = "this link is one of CPU ranks, and these ranks run on GPUs",
                    .where = key,
                    .expected = "auto, nvlink, pcie or net",
                    .found = link == CommConfig::Link::Shm ? "shm" : "tcp",
                    .advice = "choose one of these, or run on CPU ranks with --set device.kind=cpu"});
}

NcclJob prepare_nccl(const RunConfig& config, const RankEnvironment& job,
                     const std::filesystem::path& directory, const Environment& users) {
  NcclJob nccl{.wish = nccl_wish_of(config.comm.link, "comm.link"),
               .peers = gpu_peer_path(),
               .log_file = directory / fmt::format("nccl.rank{}.log", job.rank)};
  auto variables = nccl_variables(users);
  const auto chosen = choose_nccl_link(nccl.wish,
                                       {.peers = nccl.peers,
                                        .one_host = job.one_host,
                                        .log_file = nccl.log_file.string(),
                                        .log_algorithms = config.gpu.graph},
                                       variables);
  std::filesystem::create_directories(directory);
  std::filesystem::remove(nccl.log_file);  // an older run's would prove nothing
  for (const auto& [name, value] : chosen) {
    set_variable(name, value);
    variables[name] = value;
  }
  nccl.variables = std::move(variables);
  return nccl;
}

std::string agreement_facts(const NcclJob& job) {
  std::string facts = fmt::format("GPUs of the host are joined by: {}\n", name_of(job.peers));
  for (const auto& [name, value] : job.variables) {
    if (name != "NCCL_DEBUG_FILE") facts += fmt::format("{}: {}\n", name, value);
  }
  return facts;
}

const char* name_of(PeerPath peers) {
  switch (peers) {
    case PeerPath::Unknown:
      return "unknown";
    case PeerPath::None:
      return "none";
    case PeerPath::Pcie:
      return "pcie";
    case PeerPath::NvLink:
      return "nvlink";
  }
  return "unknown";
}

}  // namespace tandem
