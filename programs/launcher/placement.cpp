#include "launcher/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/error.h"

namespace tandem {
namespace {

using CoresByNode = std::map<int, std::vector<int>>;

CoresByNode cores_by_node(const Host& host) {
  CoresByNode nodes;
  for (const auto& core : host.cores) nodes[core.numa].push_back(core.index);
  return nodes;
}

// An equal share of `cores` for each of `ranks`, what is over left out; empty ones if there are too few.
std::vector<std::vector<int>> shares_of(const std::vector<int>& cores, std::size_t ranks) {
  const auto each = static_cast<std::ptrdiff_t>(cores.size() / ranks);
  std::vector<std::vector<int>> shares;
  for (auto begin = cores.begin(); shares.size() < ranks; begin += each)
    shares.emplace_back(begin, begin + each);
  return shares;
}

// The most cores per rank with which no rank crosses a node.
std::size_t most_within_nodes(const CoresByNode& nodes, std::size_t ranks, std::size_t most) {
  for (std::size_t each = most; each > 1; --each) {
    std::size_t room = 0;
    for (const auto& [node, cores] : nodes) room += cores.size() / each;
    if (room >= ranks) return each;
  }
  return 1;
}

std::vector<std::vector<int>> cores_for(const Host& host, std::size_t ranks) {
  if (ranks > host.cores.size()) return std::vector<std::vector<int>>(ranks);
  const auto nodes = cores_by_node(host);
  std::vector<std::vector<int>> result;
  if (ranks <= nodes.size()) {  // whole nodes
    const auto nodes_each = nodes.size() / ranks;
    for (auto node = nodes.begin(); result.size() < ranks;) {
      auto& cores = result.emplace_back();
      for (std::size_t n = 0; n < nodes_each; ++n, ++node)
        cores.insert(cores.end(), node->second.begin(), node->second.end());
    }
    return result;
  }
  const auto each = most_within_nodes(nodes, ranks, host.cores.size() / ranks);
  for (const auto& [node, cores] : nodes)
    for (std::size_t at = 0; at + each <= cores.size() && result.size() < ranks; at += each)
      result.emplace_back(cores.begin() + static_cast<std::ptrdiff_t>(at),
                          cores.begin() + static_cast<std::ptrdiff_t>(at + each));
  return result;
}

const Gpu& gpu_of(const Host& host, int index) {
  const auto found = std::ranges::find(host.gpus, index, &Gpu::index);
  TANDEM_EXPECT(found != host.gpus.end(), "host {} has no GPU {}", host.name, index);
  return *found;
}

struct RingQuality {
  int slowest = std::numeric_limits<int>::max();
  int sum = 0;
  auto operator<=>(const RingQuality&) const = default;
};

RingQuality quality_of(const Host& host, const std::vector<int>& ring) {
  RingQuality quality;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int next = ring[(i + 1) % ring.size()];
    if (next == ring[i]) continue;  // a ring of one
    const int link = closeness(pair_of(host, ring[i], next));
    quality.slowest = std::min(quality.slowest, link);
    quality.sum += link;
  }
  return quality;
}

// Rings that differ by where they begin are one; beginning with the smallest GPU tries each once.
void try_rings_of(const Host& host, std::vector<int> gpus, std::vector<int>& best,
                  RingQuality& best_quality) {
  do {
    const auto quality = quality_of(host, gpus);
    if (!best.empty() && quality <= best_quality) continue;
    best = gpus;
    best_quality = quality;
  } while (std::next_permutation(gpus.begin() + 1, gpus.end()));
}

std::vector<int> best_ring(const Host& host, int count) {
  std::vector<bool> chosen(host.gpus.size());
  std::fill(chosen.begin(), chosen.begin() + count, true);
  std::vector<int> best;
  RingQuality best_quality;
  do {  // every choice of `count` GPUs
    std::vector<int> gpus;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) gpus.push_back(host.gpus[i].index);
    std::ranges::sort(gpus);
    try_rings_of(host, std::move(gpus), best, best_quality);
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return best;
}

std::vector<int> nearest_ring(const Host& host, int count) {
  std::vector<int> ring = {host.gpus.front().index};
  while (ring.size() < static_cast<std::size_t>(count)) {
    const Gpu* nearest = nullptr;
    int link = 0;
    for (const auto& gpu : host.gpus) {
      if (std::ranges::find(ring, gpu.index) != ring.end()) continue;
      const int candidate = closeness(pair_of(host, ring.back(), gpu.index));
      if (candidate > link) std::tie(nearest, link) = std::pair(&gpu, candidate);
    }
    TANDEM_EXPECT(nearest != nullptr, "{} GPUs of {} on {}", count, host.gpus.size(), host.name);
    ring.push_back(nearest->index);
  }
  return ring;
}

std::string cores_text(const RankPlace& place, const Host& host) {
  if (place.cores.empty()) return "any core";
  std::set<int> nodes;
  for (const auto& core : host.cores)
    if (std::ranges::find(place.cores, core.index) != place.cores.end()) nodes.insert(core.numa);
  return fmt::format("core{} {} (memory node{} {})", place.cores.size() == 1 ? "" : "s",
                     number_ranges(place.cores), nodes.size() == 1 ? "" : "s", fmt::join(nodes, ", "));
}

}  // namespace

int closeness(const GpuPair& pair) {
  constexpr int kOverAnyPcie = 100;
  switch (pair.path) {
    case Path::NvLink:
      return kOverAnyPcie + pair.nvlinks;
    case Path::Pix:
      return 6;
    case Path::Pxb:
      return 5;
    case Path::Phb:
      return 4;
    case Path::Node:
      return 3;
    case Path::Sys:
      return 2;
    case Path::Unknown:
      return 1;
  }
  return 1;
}

std::vector<int> ring_order(const Host& host, int count) {
  constexpr std::size_t kMostTried = 8;
  TANDEM_EXPECT(count >= 1 && static_cast<std::size_t>(count) <= host.gpus.size(), "{} GPUs of {} on {}",
                count, host.gpus.size(), host.name);
  return host.gpus.size() <= kMostTried ? best_ring(host, count) : nearest_ring(host, count);
}

std::vector<RankPlace> place_cpu_ranks(const Host& host, int ranks) {
  TANDEM_EXPECT(ranks >= 1, "{} ranks", ranks);
  std::vector<RankPlace> places(static_cast<std::size_t>(ranks));
  if (ranks == 1) return places;
  const auto cores = cores_for(host, places.size());
  for (std::size_t r = 0; r < places.size(); ++r) places[r].cores = cores[r];
  return places;
}

std::vector<RankPlace> place_gpu_ranks(const Host& host, int ranks, const std::vector<int>& gpus) {
  TANDEM_EXPECT(ranks >= 1 && !gpus.empty(), "{} ranks on {} GPUs", ranks, gpus.size());
  std::vector<RankPlace> places;
  std::map<int, std::vector<std::size_t>> ranks_by_node;
  const auto nodes = cores_by_node(host);
  bool known = true;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    const int gpu = gpus[r % gpus.size()];
    places.push_back({.gpu = gpu, .cores = {}});
    const auto node = gpu_of(host, gpu).numa;
    known = known && node && nodes.contains(*node);
    if (known) ranks_by_node[*node].push_back(r);
  }
  for (const auto& [node, members] : ranks_by_node) known = known && nodes.at(node).size() >= members.size();
  if (!known) {
    const auto cores = cores_for(host, places.size());
    for (std::size_t r = 0; r < places.size(); ++r) places[r].cores = cores[r];
    return places;
  }
  for (const auto& [node, members] : ranks_by_node) {
    const auto shares = shares_of(nodes.at(node), members.size());
    for (std::size_t i = 0; i < members.size(); ++i) places[members[i]].cores = shares[i];
  }
  return places;
}

bool is_plain(const std::vector<RankPlace>& places) {
  int next = 0;
  for (const auto& place : places) {
    if (place.cores.empty() || place.cores.size() != places.front().cores.size()) return false;
    for (const int core : place.cores)
      if (core != next++) return false;
  }
  return true;
}

std::vector<std::string> describe(const std::vector<RankPlace>& places, const Host& host, int first_rank) {
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < places.size(); ++r) {
    std::string line = fmt::format("rank {}: ", first_rank + static_cast<int>(r));
    if (places[r].gpu) line += fmt::format("GPU {}, ", *places[r].gpu);
    lines.push_back(line + cores_text(places[r], host));
  }
  return lines;
}

std::string number_ranges(const std::vector<int>& ascending) {
  std::vector<std::string> ranges;
  for (std::size_t begin = 0; begin < ascending.size();) {
    std::size_t end = begin + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    ranges.push_back(end - begin == 1 ? fmt::format("{}", ascending[begin])
                                      : fmt::format("{}-{}", ascending[begin], ascending[end - 1]));
    begin = end;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

}  // namespace tandem
