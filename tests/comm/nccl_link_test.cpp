#include "comm/nccl_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

NcclSite site(PeerPath peers) {
  return {.peers = peers, .one_host = true, .log_file = "runs/a/nccl.rank0.log"};
}

// What every wish sets beside its own.
Environment with_log(Environment variables) {
  variables.insert({{"NCCL_DEBUG", "INFO"},
                    {"NCCL_DEBUG_SUBSYS", "INIT,ENV,GRAPH"},
                    {"NCCL_DEBUG_FILE", "runs/a/nccl.rank0.log"}});
  variables.try_emplace("NCCL_NVLS_ENABLE", "0");
  return variables;
}

std::string refusal(NcclLinkWish wish, const NcclSite& where, const Environment& users) {
  try {
    choose_nccl_link(wish, where, users);
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(ChooseNcclLink, AutoAndNvLinkSwitchNothingOff) {
  const auto nvlink = site(PeerPath::NvLink);
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Auto, nvlink, {}), with_log({}));
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::NvLink, nvlink, {}), with_log({}));
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Auto, nvlink, {{"NCCL_P2P_DISABLE", "1"}}), with_log({}))
      << "auto leaves the user's choice alone";
}

TEST(ChooseNcclLink, PcieGoesThroughHostMemoryWithoutWindows) {
  const Environment staged{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_WIN_ENABLE", "0"}};
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Pcie, site(PeerPath::NvLink), {}), with_log(staged));
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Pcie, site(PeerPath::None), {}), with_log(staged));
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Pcie, site(PeerPath::Unknown), {}), with_log(staged));
}

TEST(ChooseNcclLink, PcieUsesPeerAccessOverPcieWhereThatIsWhatExists) {
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Pcie, site(PeerPath::Pcie), {}),
            with_log({{"NCCL_WIN_ENABLE", "0"}}));
}

TEST(ChooseNcclLink, NetSwitchesEverythingElseOff) {
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Net, site(PeerPath::NvLink), {}),
            with_log({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_WIN_ENABLE", "0"}}));
}

TEST(ChooseNcclLink, MulticastStaysOffUnlessTheUserSays) {
  const auto chosen =
      choose_nccl_link(NcclLinkWish::Auto, site(PeerPath::NvLink), {{"NCCL_NVLS_ENABLE", "1"}});
  EXPECT_FALSE(chosen.contains("NCCL_NVLS_ENABLE"));
}

TEST(ChooseNcclLink, RefusesWhatContradictsTheUsersVariables) {
  struct Case {
    NcclLinkWish wish;
    std::string variable, value;
  };
  for (const auto& [wish, variable, value] :
       {Case{NcclLinkWish::NvLink, "NCCL_P2P_DISABLE", "1"},
        Case{NcclLinkWish::Pcie, "NCCL_P2P_DISABLE", "0"}, Case{NcclLinkWish::Pcie, "NCCL_WIN_ENABLE", "1"},
        Case{NcclLinkWish::Pcie, "NCCL_SHM_DISABLE", "1"}, Case{NcclLinkWish::Net, "NCCL_SHM_DISABLE", "0"},
        Case{NcclLinkWish::NvLink, "NCCL_P2P_LEVEL", "LOC"}}) {
    EXPECT_THAT(refusal(wish, site(PeerPath::NvLink), {{variable, value}}),
                AllOf(HasSubstr("comm.link"), HasSubstr(variable + "=" + value)));
  }
}

TEST(ChooseNcclLink, AgreeingVariablesOfTheUserAreFine) {
  EXPECT_NO_THROW(choose_nccl_link(NcclLinkWish::Pcie, site(PeerPath::NvLink),
                                   {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "0"}}));
}

TEST(ChooseNcclLink, RefusesNvLinkWhereThereIsNone) {
  EXPECT_THAT(refusal(NcclLinkWish::NvLink, site(PeerPath::Pcie), {}), HasSubstr("over PCIe"));
  EXPECT_THAT(refusal(NcclLinkWish::NvLink, site(PeerPath::None), {}), HasSubstr("not joined by NVLink"));
  EXPECT_NO_THROW(choose_nccl_link(NcclLinkWish::NvLink, site(PeerPath::Unknown), {}));
}

TEST(ChooseNcclLink, RefusesLinksOfOneHostOverSeveral) {
  auto cluster = site(PeerPath::NvLink);
  cluster.one_host = false;
  EXPECT_THAT(refusal(NcclLinkWish::NvLink, cluster, {}), HasSubstr("several hosts"));
  EXPECT_THAT(refusal(NcclLinkWish::Pcie, cluster, {}), HasSubstr("several hosts"));
  EXPECT_NO_THROW(choose_nccl_link(NcclLinkWish::Net, cluster, {}));
}

TEST(ChooseNcclLink, AsksForTheLogThatProvesTheTransport) {
  auto where = site(PeerPath::NvLink);
  where.log_algorithms = true;
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Auto, where, {}).at("NCCL_DEBUG_SUBSYS"), "INIT,ENV,GRAPH,TUNING");
  const auto more = choose_nccl_link(NcclLinkWish::Auto, site(PeerPath::NvLink),
                                     {{"NCCL_DEBUG", "TRACE"}, {"NCCL_DEBUG_SUBSYS", "COLL"}});
  EXPECT_FALSE(more.contains("NCCL_DEBUG"));
  EXPECT_EQ(more.at("NCCL_DEBUG_SUBSYS"), "INIT,ENV,GRAPH,COLL");
  EXPECT_EQ(choose_nccl_link(NcclLinkWish::Auto, where, {{"NCCL_DEBUG", "WARN"}}).at("NCCL_DEBUG"), "INFO");
}

TEST(ChooseNcclLink, RefusesALogThatWouldNotProveIt) {
  EXPECT_THAT(refusal(NcclLinkWish::Auto, site(PeerPath::NvLink), {{"NCCL_DEBUG_FILE", "/tmp/x"}}),
              AllOf(HasSubstr("/tmp/x"), HasSubstr("runs/a/nccl.rank0.log")));
  EXPECT_THAT(refusal(NcclLinkWish::Auto, site(PeerPath::NvLink), {{"NCCL_DEBUG_SUBSYS", "^INIT"}}),
              HasSubstr("^INIT"));
}

TEST(NcclVariables, AreThoseOfNcclOnly) {
  EXPECT_EQ(nccl_variables({{"HOME", "/root"}, {"NCCL_DEBUG", "INFO"}, {"XNCCL_A", "1"}, {"NCCLX", "2"}}),
            (Environment{{"NCCL_DEBUG", "INFO"}}));
}

}  // namespace
}  // namespace tandem
