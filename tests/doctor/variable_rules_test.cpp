#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Findings with(std::map<std::string, std::string> variables, std::vector<NcclFile> files = {}) {
  auto of = patient("a100x8_nvswitch");
  of.around.variables = std::move(variables);
  of.around.nccl_files = std::move(files);
  return examine(of);
}

TEST(VariableRules, OneConnectionForAllStreams) {
  EXPECT_THAT(ids(with({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}})), ElementsAre("one-connection"));
  EXPECT_THAT(ids(with({{"CUDA_DEVICE_MAX_CONNECTIONS", "8"}})), IsEmpty());
}

TEST(VariableRules, KernelsThatAreWaitedFor) {
  EXPECT_THAT(ids(with({{"CUDA_LAUNCH_BLOCKING", "1"}})), ElementsAre("launch-blocking"));
  EXPECT_THAT(ids(with({{"CUDA_LAUNCH_BLOCKING", "0"}})), IsEmpty());
}

TEST(VariableRules, KernelsThatAreLoadedAtEveryStart) {
  const auto finding =
      only(with({{"CUDA_CACHE_DISABLE", "1"}, {"CUDA_MODULE_LOADING", "EAGER"}}), "slow-start");
  EXPECT_EQ(finding.what, "CUDA_MODULE_LOADING=EAGER and CUDA_CACHE_DISABLE=1 are set.");
  EXPECT_THAT(ids(with({{"CUDA_CACHE_DISABLE", "0"}, {"CUDA_MODULE_LOADING", "LAZY"}})), IsEmpty());
}

TEST(VariableRules, FewerGpusThanThereAre) {
  EXPECT_THAT(only(with({{"CUDA_VISIBLE_DEVICES", "0,1"}}), "visible-devices").what, HasSubstr("2 of 8"));
  EXPECT_THAT(only(with({{"CUDA_VISIBLE_DEVICES", ""}}), "visible-devices").what, HasSubstr("0 of 8"));
  EXPECT_THAT(ids(with({{"CUDA_VISIBLE_DEVICES", "7,6,5,4,3,2,1,0"}})), IsEmpty());
}

TEST(VariableRules, OneGpuPerRank) {
  auto of = patient("h200x2_nv18");
  of.measured.ranks = {{.rank = 0, .world_size = 2, .devices = "0"},
                       {.rank = 1, .world_size = 2, .devices = "1"}};
  EXPECT_THAT(only(examine(of), "visible-devices-per-rank").what, HasSubstr("0, 1"));
  of.measured.ranks[1].devices = of.measured.ranks[0].devices = "0,1";
  EXPECT_THAT(ids(examine(of)), IsEmpty());
}

TEST(VariableRules, NcclSwitchesWithTheirEffect) {
  const auto findings =
      with({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "0"}, {"NCCL_NVLS_ENABLE", "0"}});
  EXPECT_THAT(ids(findings), ElementsAre("nccl-switch", "nccl-settings"));
  EXPECT_THAT(findings[0].what, HasSubstr("NCCL_P2P_DISABLE=1 is set in the environment"));
  EXPECT_THAT(findings[0].why, HasSubstr("host memory"));
  EXPECT_THAT(findings[1].what, HasSubstr("NCCL_NVLS_ENABLE=0, NCCL_P2P_DISABLE=1, NCCL_SHM_DISABLE=0"));
}

TEST(VariableRules, SettingsOfFilesCountUnlessTheEnvironmentHasThem) {
  const NcclFile file{.path = "/etc/nccl.conf", .settings = {"NCCL_P2P_LEVEL=PIX", "NCCL_ALGO=Ring"}};
  const auto findings = with({{"NCCL_ALGO", "Tree"}}, {file});
  EXPECT_THAT(ids(findings), ElementsAre("nccl-switch", "nccl-switch", "nccl-settings"));
  EXPECT_THAT(findings[0].what, "NCCL_ALGO=Tree is set in the environment.");
  EXPECT_THAT(findings[1].what, "NCCL_P2P_LEVEL=PIX is set in /etc/nccl.conf.");
}

TEST(VariableRules, OpenMpiSettingsAreTold) {
  const auto finding = only(with({{"OMPI_MCA_btl", "tcp,self"}}), "open-mpi-settings");
  EXPECT_EQ(finding.severity, Severity::Note);
  EXPECT_THAT(finding.what, HasSubstr("OMPI_MCA_btl=tcp,self"));
}

}  // namespace
}  // namespace tandem
