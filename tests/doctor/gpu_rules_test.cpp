#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GpuRules, HealthyMachinesHaveNoFinding) {
  EXPECT_THAT(ids(examine(patient("h200x2_nv18"))), IsEmpty());
  EXPECT_THAT(ids(examine(patient("a100x8_nvswitch"))), IsEmpty());
  EXPECT_THAT(ids(examine(patient("l40s_x8_pcie_two_sockets"))), IsEmpty());
}

TEST(GpuRules, MixedModelsBusyHotAndCapped) {
  const auto findings = examine(patient("mixed_models"));
  EXPECT_THAT(ids(findings),
              ElementsAre("mixed-gpus", "throttled", "power-cap", "hot", "gpu-busy", "pcie-narrow"));
  EXPECT_THAT(only(findings, "mixed-gpus").what, HasSubstr("GPU 1 is NVIDIA GeForce RTX 3090"));
  EXPECT_THAT(only(findings, "throttled").what, HasSubstr("thermal slowdown (software)"));
  EXPECT_THAT(only(findings, "throttled").what, testing::Not(HasSubstr("power cap")));
  EXPECT_THAT(only(findings, "power-cap").advice, "nvidia-smi -i 1 -pl 350");
  EXPECT_THAT(only(findings, "gpu-busy").what, HasSubstr("4711 /usr/bin/python3"));
  EXPECT_EQ(exit_status_of(findings), kWarningStatus);
}

TEST(GpuRules, NoGpuIsANoteForABuildWithoutCudaAndAWarningForOneWithIt) {
  auto of = patient("cpu_only");
  EXPECT_EQ(only(examine(of), "no-gpu").severity, Severity::Warning);
  EXPECT_THAT(only(examine(of), "no-gpu").advice, HasSubstr("--gpus all"));
  of.around.cuda_built = false;
  EXPECT_EQ(only(examine(of), "no-gpu").severity, Severity::Note);
  of.host.container = "";
  EXPECT_THAT(only(examine(of), "no-gpu").advice, testing::Not(HasSubstr("--gpus all")));
}

TEST(GpuRules, GpusWithProgramsThatCannotUseThem) {
  auto of = patient("h200x2_nv18");
  of.around.cuda_built = false;
  EXPECT_THAT(ids(examine(of)), ElementsAre("built-without-cuda"));
}

TEST(GpuRules, ALostGpuIsAFailure) {
  auto of = patient("h200x2_nv18");
  of.host.lost_gpus = {"GPU 2: GPU is lost"};
  const auto finding = only(examine(of), "gpu-lost");
  EXPECT_EQ(finding.severity, Severity::Failure);
  EXPECT_THAT(finding.what, HasSubstr("GPU 2: GPU is lost"));
}

TEST(GpuRules, MemoryErrorsMigAndMixedEcc) {
  auto of = patient("a100x8_nvswitch");
  of.host.gpus[3].uncorrected_ecc_errors = 2;
  of.host.gpus[4].mig = true;
  of.host.gpus[5].ecc = false;
  const auto findings = examine(of);
  EXPECT_THAT(ids(findings), ElementsAre("ecc-errors", "mixed-ecc", "mig"));
  EXPECT_EQ(exit_status_of(findings), kFailingStatus);
  EXPECT_THAT(only(findings, "mixed-ecc").what, HasSubstr("GPUs 0, 1, 2, 3, 4, 6 and 7 and off for GPU 5"));
}

TEST(GpuRules, MemoryOfProcessesThatCannotBeSeen) {
  auto of = patient("h200x2_nv18");
  of.host.gpus[0].state.memory_used_bytes = 5'000'000'000;
  EXPECT_THAT(only(examine(of), "gpu-memory-taken").what, HasSubstr("5.0 GB of GPU 0"));
}

TEST(GpuRules, MoreRanksThanGpus) {
  auto of = patient("h200x2_nv18");
  of.around.ranks = 3;
  EXPECT_EQ(only(examine(of), "ranks-above-gpus").advice, "--ranks 2");
}

TEST(GpuRules, PlansThatTheFirstRunHasToSearch) {
  auto of = patient("h200x2_nv18");
  of.around.planned_gpus.emplace();
  EXPECT_EQ(only(examine(of), "plans-unknown").severity, Severity::Note);
  of.around.planned_gpus = {"NVIDIA H200 NVL, cuDNN 91900, cuBLASLt 130100"};
  EXPECT_THAT(ids(examine(of)), ElementsAre("plans-unknown"));
  of.around.planned_gpus->push_back(of.host.gpus[0].name + ", cuDNN 91900, cuBLASLt 130100");
  EXPECT_THAT(ids(examine(of)), IsEmpty());
}

TEST(GpuRules, WorstComesFirst) {
  auto of = patient("mixed_models");
  of.host.lost_gpus = {"GPU 2: GPU is lost"};
  of.around.variables = {{"NCCL_DEBUG", "WARN"}};
  const auto findings = examine(of);
  EXPECT_EQ(findings.front().id.text(), "gpu-lost");
  EXPECT_EQ(findings.back().id.text(), "nccl-settings");
}

}  // namespace
}  // namespace tandem
