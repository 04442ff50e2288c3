#include "launcher/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "machine/machine_json.h"

namespace tandem {
namespace {

using testing::ElementsAre;

Host host_with(const std::vector<int>& cores_per_node) {
  Host host{.name = "box"};
  for (std::size_t node = 0; node < cores_per_node.size(); ++node)
    for (int c = 0; c < cores_per_node[node]; ++c)
      host.cores.push_back({.index = static_cast<int>(host.cores.size()), .numa = static_cast<int>(node)});
  return host;
}

// GPUs that reach each other as `path` says, on node `numa`.
Host gpus_with(int count, const std::function<Path(int, int)>& path) {
  Host host = host_with({8, 8});
  for (int g = 0; g < count; ++g) host.gpus.push_back({.index = g, .numa = g % 2});
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b) host.gpu_pairs.push_back({.from = a, .to = b, .path = path(a, b)});
  return host;
}

Host recorded(const std::string& name) {
  return read_machine(std::string(MACHINES) + "/" + name + ".json").hosts.front();
}

std::vector<std::size_t> sizes(const std::vector<RankPlace>& places) {
  std::vector<std::size_t> result;
  for (const auto& place : places) result.push_back(place.cores.size());
  return result;
}

TEST(PlaceCpuRanks, SharesOneNodeEvenly) {
  EXPECT_THAT(place_cpu_ranks(host_with({8}), 2),
              ElementsAre(RankPlace{{}, {0, 1, 2, 3}}, RankPlace{{}, {4, 5, 6, 7}}));
  EXPECT_TRUE(is_plain(place_cpu_ranks(host_with({8}), 3)));
}

TEST(PlaceCpuRanks, LeavesOneRankAloneAndTooManyUnbound) {
  EXPECT_THAT(sizes(place_cpu_ranks(host_with({8}), 1)), ElementsAre(0));
  EXPECT_THAT(sizes(place_cpu_ranks(host_with({2}), 3)), ElementsAre(0, 0, 0));
}

TEST(PlaceCpuRanks, NeverLetsARankCrossANodeNorTwoShareACore) {
  for (const std::vector<int>& nodes : {std::vector<int>{6, 6}, {8, 8}, {5, 3}, {4, 4, 4, 4}, {1, 7}}) {
    const Host host = host_with(nodes);
    for (int ranks = 2; ranks <= static_cast<int>(host.cores.size()); ++ranks) {
      const auto places = place_cpu_ranks(host, ranks);
      ASSERT_EQ(places.size(), static_cast<std::size_t>(ranks));
      std::set<int> used;
      for (const auto& place : places) {
        std::set<int> on;
        EXPECT_FALSE(place.cores.empty());
        for (const int core : place.cores) {
          EXPECT_TRUE(used.insert(core).second) << "core " << core;
          on.insert(host.cores[static_cast<std::size_t>(core)].numa);
        }
        if (ranks >= static_cast<int>(nodes.size())) {
          EXPECT_EQ(on.size(), 1u) << ranks << " ranks";
        }
      }
    }
  }
}

TEST(RingOrder, GoesAlongTheClosestLinks) {
  // Two islands whose members are joined by NVLink: 0-2, 1-3; between them only the link of the sockets.
  const auto islands = [](int a, int b) { return a % 2 == b % 2 ? Path::NvLink : Path::Sys; };
  EXPECT_THAT(ring_order(gpus_with(4, islands), 4), ElementsAre(0, 1, 3, 2)) << "0-2 and 1-3 are neighbours";
  EXPECT_THAT(ring_order(gpus_with(4, islands), 2), ElementsAre(0, 2)) << "two of one island";
  // A ring of NVLinks 0-3-1-4-2-5-0: there is no other without a slow link.
  const std::vector<int> way = {0, 3, 1, 4, 2, 5};
  const auto along = [&way](int a, int b) {
    for (std::size_t i = 0; i < way.size(); ++i) {
      const int next = way[(i + 1) % way.size()];
      if ((way[i] == a && next == b) || (way[i] == b && next == a)) return Path::NvLink;
    }
    return Path::Phb;
  };
  EXPECT_EQ(ring_order(gpus_with(6, along), 6), way);
}

TEST(RingOrder, KeepsTheNumbersWhereAllLinksAreAlike) {
  for (const int count : {1, 2, 7, 8, 12}) {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    EXPECT_EQ(ring_order(gpus_with(count, [](int, int) { return Path::Unknown; }), count), numbers);
  }
}

TEST(PlaceGpuRanks, PutsRanksOnTheCoresNearTheirGpu) {
  const auto places = place_gpu_ranks(gpus_with(4, [](int, int) { return Path::Pix; }), 4, {0, 2, 1, 3});
  EXPECT_THAT(places, ElementsAre(RankPlace{0, {0, 1, 2, 3}}, RankPlace{2, {4, 5, 6, 7}},
                                  RankPlace{1, {8, 9, 10, 11}}, RankPlace{3, {12, 13, 14, 15}}));
}

TEST(PlaceGpuRanks, SharesAllCoresWhereTheDriverDoesNotTell) {
  Host host = gpus_with(2, [](int, int) { return Path::Unknown; });
  for (auto& gpu : host.gpus) gpu.numa.reset();
  EXPECT_THAT(sizes(place_gpu_ranks(host, 2, {0, 1})), ElementsAre(8, 8));
  host.gpus[0].numa = 7;  // a node without cores of ours
  host.gpus[1].numa = 0;
  EXPECT_THAT(sizes(place_gpu_ranks(host, 2, {0, 1})), ElementsAre(8, 8));
}

TEST(PlaceGpuRanks, KnowsRecordedMachines) {
  const Host dgx = recorded("a100x8_nvswitch");
  const auto order = ring_order(dgx, 8);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)) << "one switch joins them all";
  const auto places = place_gpu_ranks(dgx, 8, order);
  EXPECT_EQ(describe(places, dgx, 0)[2], "rank 2: GPU 2, cores 16-23 (memory node 1)");
  EXPECT_FALSE(is_plain(places));

  const Host pcie = recorded("l40s_x8_pcie_two_sockets");
  const auto ring = ring_order(pcie, 8);
  int crossings = 0;
  for (std::size_t i = 0; i < ring.size(); ++i)
    if (pair_of(pcie, ring[i], ring[(i + 1) % ring.size()]).path == Path::Sys) ++crossings;
  EXPECT_EQ(crossings, 2) << "from one socket to the other and back";
}

TEST(NumberRanges, AreShort) {
  EXPECT_EQ(number_ranges({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(number_ranges({}), "");
}

}  // namespace
}  // namespace tandem
