#include "page/topology_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "page/pcie_tree.h"
#include "report/example_record.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(TopologyPicture, CoresAndGpusSayWhichRankTheyWorkFor) {
  const auto svg = topology_picture(example_record().topology, "tcp");
  EXPECT_THAT(svg, HasSubstr("<title>core 1, 2 threads, rank 0</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>core 2, 2 threads, rank 1</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>GPU 0: A GPU PCIe 5 x16</title>"));
  EXPECT_THAT(svg, HasSubstr("socket 1, NUMA node 1, 64 GB"));
  EXPECT_THAT(svg, HasSubstr("<title>mlx5_0: infiniband</title>"));
}

TEST(TopologyPicture, MarksTheLinksThatCarriedTheBytes) {
  auto hosts = example_record().topology;
  const auto by_socket = topology_picture(hosts, "tcp");
  EXPECT_THAT(by_socket, HasSubstr("class=\"wire carried\""));  // the ring of ranks
  EXPECT_THAT(by_socket, HasSubstr("class=\"nvlink\""));        // there, and not used
  hosts[0].ranks[1].gpu = 1;
  const auto by_nvlink = topology_picture(hosts, "P2P/CUMEM");
  EXPECT_THAT(by_nvlink, HasSubstr("class=\"nvlink carried\""));
  EXPECT_THAT(by_nvlink, Not(HasSubstr("wire carried")));
}

TEST(TopologyPicture, GpusThatAreAllJoinedAlikeHangOnOneSwitch) {
  auto hosts = example_record().topology;
  hosts[0].gpus.push_back({.index = 2, .name = "A GPU", .numa = 1, .pcie = ""});
  hosts[0].gpu_paths = {{0, 1, "NV12"}, {0, 2, "NV12"}, {1, 2, "NV12"}};
  EXPECT_THAT(topology_picture(hosts, "P2P/CUMEM"), HasSubstr("NV12 between every two GPUs"));
  hosts[0].gpu_paths[2].path = "SYS";
  const auto svg = topology_picture(hosts, "P2P/CUMEM");
  EXPECT_THAT(svg, Not(HasSubstr("between every two")));
  EXPECT_THAT(svg, HasSubstr("<title>GPU 0 and GPU 2: NV12</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("GPU 1 and GPU 2")));  // not NVLink, and it carried nothing
}

TEST(TopologyPicture, ARankWithoutOneNodeStandsApart) {
  auto hosts = example_record().topology;
  hosts[0].ranks[1].cores = {0, 1, 2, 3};
  const auto table = topology_table(hosts);
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_THAT(table.row(1), ElementsAre("box", "1", "1", "64.0", "2", "mlx5_0 (infiniband)"));
  EXPECT_THAT(table.row(2).back(), HasSubstr("rank 1 (any core)"));
}

// Two GPUs below one switch, a third at another host bridge; ranks on the first and the last.
std::vector<HostTopologyRecord> switched_host() {
  auto hosts = example_record().topology;
  hosts[0].gpus = {
      {.index = 0,
       .name = "A GPU",
       .numa = 0,
       .pcie = "",
       .pcie_route = {"pci0000:17", "17:01", "18:00", "19:00"}},
      {.index = 1, .name = "A GPU", .numa = 1, .pcie = "", .pcie_route = {"pci0000:80", "80:01"}},
      {.index = 2,
       .name = "A GPU",
       .numa = 0,
       .pcie = "",
       .pcie_route = {"pci0000:17", "17:01", "18:00", "19:04"}}};
  hosts[0].gpu_paths = {{0, 1, "SYS"}, {0, 2, "PIX"}, {1, 2, "SYS"}};
  hosts[0].ranks = {{.rank = 0, .cores = {}, .gpu = 0}, {.rank = 1, .cores = {}, .gpu = 2}};
  return hosts;
}

TEST(PcieTree, HasHostBridgesAndWhereWaysPart) {
  const auto tree = pcie_tree(switched_host()[0]);
  EXPECT_THAT(tree.gpus, ElementsAre(0, 2, 1));
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes[0].bridge, "pci0000:17");
  EXPECT_EQ(tree.nodes[1].bridge, "18:00");
  EXPECT_EQ(tree.nodes[1].parent, 0u);
  EXPECT_EQ(tree.nodes[2].bridge, "pci0000:80");
  EXPECT_EQ(tree.levels, 2u);
  EXPECT_EQ(node_above(tree, 0), 1u);
  EXPECT_EQ(node_above(tree, 2), 2u);
}

TEST(PcieTree, DrawsNothingIfOneGpuDoesNotTell) {
  auto host = switched_host()[0];
  host.gpus[1].pcie_route.clear();
  const auto tree = pcie_tree(host);
  EXPECT_TRUE(tree.nodes.empty());
  EXPECT_THAT(tree.gpus, ElementsAre(0, 1, 2));
}

TEST(PcieTree, GpusOfOneBoardShareTheirLastBridge) {
  auto host = switched_host()[0];
  host.gpus[2].pcie_route = host.gpus[0].pcie_route;
  const auto tree = pcie_tree(host);
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes[1].bridge, "19:00");
}

TEST(TopologyPicture, MarksTheWaysThroughPcieThatCarriedTheBytes) {
  const auto used = HasSubstr("class=\"wire carried\"");
  const auto line = [](const std::string& svg, const std::string& words) {
    const auto end = svg.find("<title>" + words + "</title>");
    EXPECT_NE(end, std::string::npos) << words;
    return svg.substr(svg.rfind("<line", end), end - svg.rfind("<line", end));
  };
  const auto hosts = switched_host();
  const auto by_pcie = topology_picture(hosts, "P2P/IPC");  // through the switch, not past it
  EXPECT_THAT(line(by_pcie, "GPU 0 below 18:00"), used);
  EXPECT_THAT(line(by_pcie, "18:00"), Not(used));
  EXPECT_THAT(line(by_pcie, "GPU 1 below pci0000:80"), Not(used));
  const auto by_host = topology_picture(hosts, "SHM");  // staged in the memory of the host
  EXPECT_THAT(line(by_host, "18:00"), used);
  auto nvlinked = hosts;
  for (auto& path : nvlinked[0].gpu_paths) path.path = "NV4";
  EXPECT_THAT(line(topology_picture(nvlinked, "P2P/IPC"), "GPU 0 below 18:00"), Not(used));
}

TEST(TopologyPicture, HostileNamesStayText) {
  auto hosts = example_record().topology;
  hosts[0].host = hosts[0].gpus[0].name = hosts[0].ports[0].name = hosts[0].gpu_paths[0].path = "NV<script>";
  EXPECT_THAT(topology_picture(hosts, "<script>"), Not(HasSubstr("<script>")));
  EXPECT_THAT(topology_tables(hosts), Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace tandem
