// Which GPU and which cores each rank of a host gets. Pure functions of a machine (machine/machine.h), so
// that they can be tried on machines that are not here.
//
// Ranks of one host are neighbours in rings of ranks, so their order is that in which neighbouring GPUs share
// the closest links. A rank's cores are near its GPU, where the driver tells, and within one memory node
// where they fit; memory follows, since Linux takes it from the node of the core that touches it first. The
// threads of a rank (computation, communication, data) share its cores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace tandem {

struct RankPlace {
  std::optional<int> gpu;  // Gpu::index; none for CPU ranks
  std::vector<int> cores;  // Core::index; empty: wherever the system likes
  bool operator==(const RankPlace&) const = default;
};

// Of CPU ranks: each an equal number of cores, within a memory node unless it gets whole ones. Unbound are
// one rank alone, which needs no fence, and ranks that are more than the cores.
std::vector<RankPlace> place_cpu_ranks(const Host& host, int ranks);

// Of ranks on GPUs, rank r of the host on gpus[r modulo their number]: each an equal share of the cores near
// its GPU, or of all cores where that is not known.
std::vector<RankPlace> place_gpu_ranks(const Host& host, int ranks, const std::vector<int>& gpus);

// `count` of the host's GPUs, in the order of a ring whose slowest link between neighbours is as fast as can
// be, then whose links are together; of equal ones, the smallest numbers first. Every order is tried up to 8
// GPUs; beyond that, the nearest next one is taken, which need not be the best. REQUIRES count of them.
std::vector<int> ring_order(const Host& host, int count);

// How close two GPUs are: higher is closer, 1 if the system does not tell.
int closeness(const GpuPair& pair);

// Every rank has the same number of cores, one after the other from core 0: what mpirun does by itself.
bool is_plain(const std::vector<RankPlace>& places);

// "rank 0: GPU 0, cores 0-11 (memory node 0)", one line per rank.
std::vector<std::string> describe(const std::vector<RankPlace>& places, const Host& host, int first_rank);

// "0-3,8"
std::string number_ranges(const std::vector<int>& ascending);

}  // namespace tandem
