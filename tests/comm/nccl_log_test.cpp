#include "comm/nccl_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

NcclLog parse_fixture(const std::string& name) {
  std::ifstream file(TANDEM_COMM_FIXTURES "/" + name);
  EXPECT_TRUE(file) << name;
  return parse_nccl_log(file);
}
NcclLog parse_text(const std::string& text) {
  std::istringstream stream(text);
  return parse_nccl_log(stream);
}
NcclLog found(const std::map<std::string, int>& transports) {
  return {.transports = transports};
}

TEST(NcclLog, ReadsEveryTransport) {
  EXPECT_THAT(parse_fixture("nccl_p2p_cumem.rank0.log").transports, ElementsAre(Pair("P2P/CUMEM", 24)));
  EXPECT_THAT(parse_fixture("nccl_p2p_cumem.rank1.log").transports, ElementsAre(Pair("P2P/CUMEM", 24)));
  EXPECT_THAT(parse_fixture("nccl_p2p_direct.log").transports, ElementsAre(Pair("P2P/direct pointer", 24)));
  EXPECT_THAT(parse_fixture("nccl_p2p_ipc.log").transports, ElementsAre(Pair("P2P/IPC", 2)));
  EXPECT_THAT(parse_fixture("nccl_shm.log").transports, ElementsAre(Pair("SHM/direct/direct", 4)));
  EXPECT_THAT(parse_fixture("nccl_net_socket.log").transports, ElementsAre(Pair("NET/Socket", 4)));
  EXPECT_THAT(parse_fixture("nccl_net_ib.log").transports, ElementsAre(Pair("NET/IB", 4)));
}

TEST(NcclLog, ReadsHowManyChannelsCollectivesHave) {
  EXPECT_EQ(parse_fixture("nccl_p2p_cumem.rank0.log").channels, 24);
  EXPECT_EQ(parse_fixture("nccl_shm.log").channels, 4);
}

TEST(NcclLog, ReadsHowTheLargestCollectiveRan) {
  const auto log = parse_fixture("nccl_p2p_cumem.rank0.log");
  EXPECT_EQ(log.algorithm, "RING");
  EXPECT_EQ(log.protocol, "SIMPLE");
  EXPECT_EQ(parse_fixture("nccl_p2p_cumem.rank1.log").algorithm, "");
}

TEST(NcclLog, KeepsWarnings) {
  EXPECT_THAT(parse_fixture("nccl_warning.log").warnings,
              ElementsAre("Error: failed to extend /dev/shm/nccl-eJCDZq to 33030532 bytes, error: No space "
                          "left on device (28)"));
}

TEST(NcclLog, SkipsWhatItDoesNotKnow) {
  for (const auto* text :
       {"", "\n\n", "no log at all", "a:1:1 [0] NCCL INFO Channel 00/24 : 0 1", "a:1:1 [0] NCCL INFO Channel",
        "a:1:1 [0] NCCL INFO  coll channels", "a:1:1 [0] NCCL INFO AllReduce: x Bytes -> Algo ",
        "a:1:1 [0] NCCL INFO Connected via nothing", "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> "}) {
    EXPECT_EQ(parse_text(text), NcclLog()) << text;
  }
}

TEST(NcclLog, TravelsBetweenRanks) {
  for (const auto* name : {"nccl_p2p_direct.log", "nccl_shm.log", "nccl_warning.log"}) {
    const auto log = parse_fixture(name);
    EXPECT_EQ(nccl_log_from_text(to_text(log)), log) << name;
  }
  EXPECT_EQ(nccl_log_from_text(to_text({})), NcclLog());
}

TEST(DescribeTransports, NamesThemMostFrequentFirst) {
  EXPECT_EQ(describe_transports({found({{"P2P/CUMEM", 24}}), found({{"P2P/CUMEM", 24}})}), "P2P/CUMEM");
  EXPECT_EQ(describe_transports({found({{"NET/IB", 2}, {"SHM/direct/direct", 2}}), found({{"NET/IB", 2}})}),
            "NET/IB + SHM/direct/direct");
  EXPECT_EQ(describe_transports({found({}), found({})}), "unknown");
  EXPECT_EQ(describe_transports({found({})}), "none");
}

TEST(Fulfils, ComparesTheWishWithEveryRanksConnections) {
  const std::vector peer{found({{"P2P/CUMEM", 24}}), found({{"P2P/CUMEM", 24}})};
  const std::vector host{found({{"SHM/direct/direct", 4}}), found({{"SHM/direct/direct", 4}})};
  const std::vector net{found({{"NET/Socket", 4}}), found({{"NET/Socket", 4}})};
  const std::vector mixed{found({{"P2P/CUMEM", 24}}), found({{"SHM/direct/direct", 4}})};
  EXPECT_TRUE(fulfils(NcclLinkWish::NvLink, PeerPath::NvLink, peer));
  EXPECT_TRUE(fulfils(NcclLinkWish::Pcie, PeerPath::NvLink, host));
  EXPECT_TRUE(fulfils(NcclLinkWish::Pcie, PeerPath::None, host));
  EXPECT_TRUE(fulfils(NcclLinkWish::Pcie, PeerPath::Pcie, peer));
  EXPECT_TRUE(fulfils(NcclLinkWish::Net, PeerPath::NvLink, net));
  EXPECT_TRUE(fulfils(NcclLinkWish::Auto, PeerPath::NvLink, mixed));

  EXPECT_FALSE(fulfils(NcclLinkWish::NvLink, PeerPath::NvLink, host));
  EXPECT_FALSE(fulfils(NcclLinkWish::NvLink, PeerPath::NvLink, mixed));
  EXPECT_FALSE(fulfils(NcclLinkWish::NvLink, PeerPath::Pcie, peer)) << "peer access, but not over NVLink";
  EXPECT_FALSE(fulfils(NcclLinkWish::Pcie, PeerPath::NvLink, peer));
  EXPECT_FALSE(fulfils(NcclLinkWish::Pcie, PeerPath::Pcie, host));
  EXPECT_FALSE(fulfils(NcclLinkWish::Net, PeerPath::NvLink, host));
  EXPECT_FALSE(fulfils(NcclLinkWish::NvLink, PeerPath::NvLink, {found({}), found({})})) << "no proof";
}

}  // namespace
}  // namespace tandem
