// Shared memory, limits and cores.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/rules.h"

namespace tandem {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

bool in_container(const Host& host) {
  return !host.container.empty();
}

// Open MPI keeps a segment of about 4 MiB per rank in /dev/shm. NCCL's host-staged channels take a few MiB
// per channel and neighbour, and 64 MiB, the default of container engines, has often been too little
// (NVIDIA/nccl#342, #983).
void examine_shared_memory(const Patient& patient, Findings& findings) {
  const auto& around = patient.around;
  const bool gpus = !patient.host.gpus.empty();
  const std::int64_t least = 4 * kMiB * around.ranks;
  const std::int64_t enough = gpus ? 64 * kMiB * (around.ranks + 1) : 4 * least;
  const auto free = around.shm_free_bytes.value_or(0);
  if (free >= enough) return;
  const std::string advice =
      in_container(patient.host)
          ? "start the container with --ipc=host, or with --shm-size=1g or more"
          : "mount -o remount,size=8G /dev/shm, and remove files that ended jobs left in /dev/shm";
  findings.push_back(
      {.severity = free < least ? Severity::Failure : Severity::Warning,
       .id = "shm-small",
       .what = fmt::format("/dev/shm has {} MiB free of {} MiB; {} rank{} want{} {} MiB.", free / kMiB,
                           around.shm_bytes.value_or(0) / kMiB, around.ranks, around.ranks == 1 ? "" : "s",
                           around.ranks == 1 ? "s" : "", enough / kMiB),
       .why = "Ranks of one host exchange through it: without space a job ends with \"No space left\" or "
              "SIGBUS when its ranks connect.",
       .advice = advice});
}

void examine_limits(const Patient& patient, Findings& findings) {
  const auto& around = patient.around;
  const bool pins_memory =
      std::ranges::find(patient.host.ports, "infiniband", &NetworkPort::kind) != patient.host.ports.end();
  constexpr std::int64_t kLockedEnough = 1024 * kMiB;
  if (around.locked_memory_bytes && *around.locked_memory_bytes < kLockedEnough && pins_memory)
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "locked-memory",
         .what = fmt::format("A process may lock {} MiB of memory, and this host has InfiniBand.",
                             *around.locked_memory_bytes / kMiB),
         .why = "InfiniBand registers, and so locks, every buffer that it sends.",
         .advice = "ulimit -l unlimited (containers: --ulimit memlock=-1)"});
  // A rank holds a socket to every other, and files, pipes and the driver's handles beside.
  const std::int64_t files = 512 + 16LL * around.ranks;
  if (around.open_files && *around.open_files < files)
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "open-files",
         .what = fmt::format("A process may open {} files; {} ranks want {}.", *around.open_files,
                             around.ranks, files),
         .why = "Every connection between ranks is a file; at the limit, ranks do not connect.",
         .advice = fmt::format("ulimit -n {}", std::max<std::int64_t>(4096, files))});
  if (!around.cross_memory_attach)
    findings.push_back({.severity = Severity::Note,
                        .id = "no-cross-memory-attach",
                        .what = "The kernel forbids reading another process's memory.",
                        .why = "Open MPI then copies large messages of CPU ranks twice; the trainer switches "
                               "the single copy off by itself, which costs bandwidth of the link shm.",
                        .advice = "docker run --cap-add=SYS_PTRACE gives it back"});
}

void examine_cores(const Patient& patient, Findings& findings) {
  const auto cores = static_cast<int>(patient.host.cores.size());
  const int ranks = patient.around.ranks;
  if (ranks > cores) {
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "cores-shared",
         .what = fmt::format("{} ranks share {} core{}.", ranks, cores, cores == 1 ? "" : "s"),
         .why = "Ranks wait for cores as well as for each other: results are right, times say "
                "little about a link.",
         .advice = fmt::format("use at most {} rank{}; plain mpirun refuses more (\"not enough "
                               "slots\") without --oversubscribe --bind-to none",
                               cores, cores == 1 ? "" : "s")});
    return;
  }
  // One core enqueues, one loads batches, one serves NCCL's and the driver's threads.
  constexpr int kCoresPerGpuRank = 3;
  if (patient.host.gpus.empty() || cores / ranks >= kCoresPerGpuRank) return;
  findings.push_back({.severity = Severity::Warning,
                      .id = "cores-few",
                      .what = fmt::format("{} core{} for {} ranks: {} each.", cores, cores == 1 ? "" : "s",
                                          ranks, cores / ranks),
                      .why = "The thread that feeds the GPU, the one that loads batches and NCCL's own then "
                             "take turns, and the GPU waits.",
                      .advice = "give the machine or container more cores (docker run --cpus), or use fewer "
                                "ranks"});
}

std::set<int> nodes_of(const Host& host, const RankView& view) {
  std::set<int> nodes;
  for (const auto& core : host.cores)
    for (const int thread : core.hardware_threads)
      if (std::ranges::find(view.hardware_threads, thread) != view.hardware_threads.end())
        nodes.insert(core.numa);
  return nodes;
}

// Rank r uses the r-th GPU, so its cores should be those beside that GPU.
void examine_rank_places(const Patient& patient, Findings& findings) {
  const auto& host = patient.host;
  const auto& views = patient.measured.ranks;
  for (const auto& view : views) {
    const auto rank = static_cast<std::size_t>(view.rank);
    if (rank >= host.gpus.size() || !host.gpus[rank].numa || view.host != host.name) continue;
    const int node = *host.gpus[rank].numa;
    const auto nodes = nodes_of(host, view);
    if (nodes.empty() || nodes.contains(node)) continue;
    const auto distance = numa_distance(host, *nodes.begin(), node);
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "numa-far",
         .what = fmt::format("Rank {} runs on NUMA node {}, and GPU {} is attached to node {}{}.", view.rank,
                             *nodes.begin(), host.gpus[rank].index, node,
                             distance ? fmt::format(" (distance {}, local 10)", *distance) : ""),
         .why = "Batches and host-staged gradients then cross the link between the processors.",
         .advice = "leave the binding to launcher run, or give mpirun a mapping by NUMA node"});
  }
  std::set<int> node_with_cores;
  for (const auto& core : host.cores) node_with_cores.insert(core.numa);
  for (const auto& gpu : host.gpus) {
    if (!gpu.numa || node_with_cores.contains(*gpu.numa)) continue;
    findings.push_back(
        {.severity = Severity::Warning,
         .id = "numa-no-cores",
         .what = fmt::format("GPU {} is attached to NUMA node {}, of which this process may use "
                             "no core.",
                             gpu.index, *gpu.numa),
         .why = "Everything between its rank and the GPU crosses the link between the "
                "processors.",
         .advice = "widen the container's or job's cpuset to cores of that node"});
  }
}

}  // namespace

// A machine at rest stays far below one thread that wants to run per rank.
void examine_load(const Patient& patient, Findings& findings) {
  const auto cores = static_cast<double>(patient.host.cores.size());
  const double spare = cores - patient.around.ranks;
  const double load = patient.around.load.value_or(0);
  if (load < 1 || load <= spare) return;
  findings.push_back(
      {.severity = Severity::Warning,
       .id = "cores-busy",
       .what = fmt::format("Other programs use the cores: {:.1f} threads wanted to run, on average "
                           "over the last minute, and there are {} cores.",
                           load, patient.host.cores.size()),
       .why = "Ranks wait for cores, and every rank for the one that waits longest: times of links "
              "grow a hundredfold.",
       .advice = "wait for them or end them before measuring; top shows them"});
}

void examine_system(const Patient& patient, Findings& findings) {
  examine_shared_memory(patient, findings);
  examine_limits(patient, findings);
  examine_cores(patient, findings);
  examine_load(patient, findings);
  examine_rank_places(patient, findings);
}

}  // namespace tandem
