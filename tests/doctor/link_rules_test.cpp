#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LinkRules, WhatALinkShouldGive) {
  const auto h200 = patient("h200x2_nv18").host;
  EXPECT_DOUBLE_EQ(*nominal_gb_per_s(h200, pair_of(h200, 0, 1)), 18 * 25.0);
  const auto l40s = patient("l40s_x8_pcie_two_sockets").host;
  EXPECT_DOUBLE_EQ(*nominal_gb_per_s(l40s, pair_of(l40s, 0, 7)), 1.969 * 16);
  const auto mixed = patient("mixed_models").host;
  EXPECT_DOUBLE_EQ(*nominal_gb_per_s(mixed, pair_of(mixed, 0, 1)), 1.969 * 4);  // the narrower slot
  Host nothing = mixed;
  nothing.gpus[0].pcie = {};
  EXPECT_EQ(nominal_gb_per_s(nothing, pair_of(nothing, 0, 1)), std::nullopt);
}

TEST(LinkRules, ADeadLinkIsNamedWithItsErrors) {
  const auto findings = examine(patient("h200x2_dead_link"));
  EXPECT_THAT(ids(findings), ElementsAre("nvlink-down", "nvlink-errors"));
  EXPECT_THAT(only(findings, "nvlink-down").what, HasSubstr("NVLink 5 of GPU 1 is down; 17 of 18"));
  EXPECT_THAT(only(findings, "nvlink-errors").what, HasSubstr("link 5: 48211"));
}

TEST(LinkRules, NvLinksThatAreThereAndNotActive) {
  auto of = patient("h200x2_nv18");
  for (auto& link : of.host.gpus[0].nvlinks) link.active = false;
  EXPECT_THAT(only(examine(of), "nvlink-down").what, HasSubstr("18 NVLinks, and none is active"));
}

// A single GPU of a machine with switches shows its links as down: nothing that could be mended.
TEST(LinkRules, OneGpuNeedsNoNvLink) {
  auto of = patient("h200x2_nv18");
  of.host.gpus.pop_back();
  of.host.gpu_pairs.clear();
  of.around.ranks = 1;
  for (auto& link : of.host.gpus[0].nvlinks) link.active = false;
  EXPECT_THAT(ids(examine(of)), IsEmpty());
}

TEST(LinkRules, HealthyPairs) {
  auto of = patient("a100x8_nvswitch");
  test_all_pairs(of, 250);
  EXPECT_EQ(of.measured.peers.size(), 56U);
  EXPECT_THAT(ids(examine(of)), IsEmpty());
}

TEST(LinkRules, ZerosInPlaceOfDataAreAFailureThatNamesThePair) {
  auto of = patient("l40s_x8_pcie_two_sockets");
  test_all_pairs(of, 26);
  for (auto& test : of.measured.peers)
    if (test.from == 2 && test.to == 3)
      test = {.from = 2, .to = 3, .access = true, .wrong = "all words are zero"};
  const auto findings = examine(of);
  EXPECT_THAT(ids(findings), ElementsAre("peer-data"));
  EXPECT_EQ(exit_status_of(findings), kFailingStatus);
  EXPECT_THAT(findings[0].what, HasSubstr("GPU 2 to GPU 3"));
  EXPECT_THAT(findings[0].what, HasSubstr("zero"));
  EXPECT_THAT(findings[0].advice, HasSubstr("ACS"));
  of.around.iommu = true;
  EXPECT_THAT(examine(of)[0].advice, HasSubstr("IOMMU"));
}

TEST(LinkRules, APairThatHangsIsNamed) {
  auto of = patient("l40s_x8_pcie_two_sockets");
  of.measured.unfinished = "GPU 2 to GPU 3";
  const auto finding = only(examine(of), "peer-hang");
  EXPECT_EQ(finding.severity, Severity::Failure);
  EXPECT_THAT(finding.what, HasSubstr("GPU 2 to GPU 3"));
}

TEST(LinkRules, NoAccessIsAFailureWhereThereIsNvLinkAndElseAWarning) {
  auto of = patient("h200x2_nv18");
  of.measured.peers = {{.from = 0, .to = 1, .access = false, .gb_per_s = 20}};
  EXPECT_EQ(only(examine(of), "peer-access").severity, Severity::Failure);
  auto pcie = patient("mixed_models");
  pcie.measured.peers = {{.from = 0, .to = 1, .access = false, .gb_per_s = 5}};
  EXPECT_EQ(only(examine(pcie), "peer-access").severity, Severity::Warning);
}

TEST(LinkRules, ASlowPairIsComparedWithItsLink) {
  auto of = patient("a100x8_nvswitch");
  test_all_pairs(of, 250);
  of.measured.peers[0].gb_per_s = 25;
  const auto finding = only(examine(of), "peer-slow");
  EXPECT_THAT(finding.what, HasSubstr("GPU 0 to GPU 1 carries 25.0 GB/s; NV12 should give about 300"));
}

TEST(LinkRules, PcieIsJudgedUnderLoad) {
  auto of = patient("h200x2_nv18");
  of.host.gpus[0].pcie.generation = 1;  // as an idle GPU shows it
  EXPECT_THAT(ids(examine(of)), IsEmpty());
  of.measured.pcie = {{.gpu = 0, .generation = 4, .width = 8}};
  const auto findings = examine(of);
  EXPECT_THAT(ids(findings), ElementsAre("pcie-narrow", "pcie-slow"));
  EXPECT_THAT(only(findings, "pcie-narrow").what, HasSubstr("8 of 16"));
  EXPECT_THAT(only(findings, "pcie-slow").what, HasSubstr("PCIe 4 under load"));
}

TEST(LinkRules, ATopologyThatIsNotTold) {
  auto of = patient("h200x2_nv18");
  of.host.gpu_pairs[0].pcie_path = Path::Unknown;
  EXPECT_EQ(only(examine(of), "topology-unknown").severity, Severity::Note);
}

}  // namespace
}  // namespace tandem
