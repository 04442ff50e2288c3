#include "trainer/gpu_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Backend = CommConfig::Backend;
using Link = CommConfig::Link;

RankEnvironment ranks(int count) {
  return {.launched = count > 1, .world_size = count, .local_size = count};
}
RunConfig config_with(Backend backend, bool share = false) {
  RunConfig config;
  config.comm.backend = backend;
  config.gpu.share = share;
  return config;
}
std::string refusal(const RunConfig& config, int count, int gpus) {
  try {
    resolve_for_gpus(config, ranks(count), gpus);
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(ResolveForGpus, OneGpuPerRankUsesNcclWithGraphs) {
  const auto config = resolve_for_gpus(config_with(Backend::Auto), ranks(2), 2);
  EXPECT_EQ(config.comm.backend, Backend::Nccl);
  EXPECT_TRUE(config.gpu.graph);
}

TEST(ResolveForGpus, OneRankNeedsNothing) {
  EXPECT_EQ(resolve_for_gpus(config_with(Backend::Auto), ranks(1), 1), config_with(Backend::Auto));
  EXPECT_EQ(resolve_for_gpus(config_with(Backend::Nccl), ranks(1), 1), config_with(Backend::Nccl));
  EXPECT_EQ(resolve_for_gpus(config_with(Backend::Emulated), ranks(1), 1), config_with(Backend::Emulated));
}

TEST(ResolveForGpus, RanksThatShareAGpuGoThroughMpiWithoutGraphs) {
  for (const auto backend : {Backend::Auto, Backend::Mpi}) {
    const auto config = resolve_for_gpus(config_with(backend, true), ranks(3), 1);
    EXPECT_EQ(config.comm.backend, Backend::Mpi);
    EXPECT_FALSE(config.gpu.graph);
  }
  EXPECT_EQ(resolve_for_gpus(config_with(Backend::Ring, true), ranks(3), 1).comm.backend, Backend::Ring);
}

TEST(ResolveForGpus, SharingIsAllowedWhereItIsNotNeeded) {
  EXPECT_EQ(resolve_for_gpus(config_with(Backend::Auto, true), ranks(2), 2).comm.backend, Backend::Nccl);
}

TEST(ResolveForGpus, MoreRanksThanGpusNameWhatCanBeDone) {
  EXPECT_THAT(refusal(config_with(Backend::Auto), 2, 1),
              AllOf(HasSubstr("at most 1 rank, one per GPU"), HasSubstr("2 ranks"),
                    HasSubstr("gpu.share=true"), HasSubstr("comm.backend=emulated")));
}

TEST(ResolveForGpus, BackendsThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal(config_with(Backend::Nccl, true), 2, 1), HasSubstr("one GPU per rank"));
  EXPECT_THAT(refusal(config_with(Backend::Mpi), 2, 2), HasSubstr("gpu.share: true"));
  EXPECT_THAT(refusal(config_with(Backend::Emulated), 2, 2), HasSubstr("one rank stands for all"));
  EXPECT_THAT(refusal(config_with(Backend::Single), 2, 2), HasSubstr("reach each other"));
}

TEST(NcclAgreement, LeavesThePlaceOfTheLogOut) {
  const NcclJob job{.peers = PeerPath::NvLink,
                    .variables = {{"NCCL_DEBUG_FILE", "nccl.rank1.log"}, {"NCCL_P2P_DISABLE", "1"}}};
  EXPECT_EQ(agreement_facts(job), "GPUs of the host are joined by: nvlink\nNCCL_P2P_DISABLE: 1\n");
}

TEST(NcclWish, IsNoLinkOfCpuRanks) {
  EXPECT_EQ(nccl_wish_of(Link::Pcie, "comm.link"), NcclLinkWish::Pcie);
  EXPECT_THROW(nccl_wish_of(Link::Tcp, "comm.expect"), InputError);
}

}  // namespace
}  // namespace tandem
