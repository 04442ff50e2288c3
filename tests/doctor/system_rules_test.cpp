#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMiB = 1 << 20;

TEST(SystemRules, TheSharedMemoryOfAContainer) {
  auto of = patient("h200x2_nv18");
  of.host.container = "docker";
  of.around.shm_bytes = of.around.shm_free_bytes = 64 * kMiB;
  const auto finding = only(examine(of), "shm-small");
  EXPECT_EQ(finding.severity, Severity::Warning);
  EXPECT_THAT(finding.what, HasSubstr("64 MiB free of 64 MiB"));
  EXPECT_THAT(finding.advice, HasSubstr("--ipc=host"));
  EXPECT_THAT(finding.advice, HasSubstr("--shm-size"));
  of.around.shm_free_bytes = kMiB;
  EXPECT_EQ(only(examine(of), "shm-small").severity, Severity::Failure);
  of.host.container = "";
  EXPECT_THAT(only(examine(of), "shm-small").advice, testing::Not(HasSubstr("--ipc")));
  of.around.shm_bytes = of.around.shm_free_bytes = std::nullopt;
  EXPECT_EQ(only(examine(of), "shm-small").severity, Severity::Failure);
}

TEST(SystemRules, CpuRanksWantLessSharedMemory) {
  auto of = patient("cpu_only");
  of.around.cuda_built = false;
  of.around.libraries.resize(1);
  of.around.shm_bytes = of.around.shm_free_bytes = 64 * kMiB;
  EXPECT_THAT(ids(examine(of)), ElementsAre("no-gpu"));
}

TEST(SystemRules, LockedMemoryMattersWithInfiniBand) {
  auto of = patient("h200x2_nv18");
  of.around.locked_memory_bytes = 8 * kMiB;
  EXPECT_THAT(ids(examine(of)), IsEmpty());
  of = patient("a100x8_nvswitch");
  of.around.locked_memory_bytes = 8 * kMiB;
  EXPECT_THAT(only(examine(of), "locked-memory").advice, HasSubstr("ulimit -l"));
}

TEST(SystemRules, OpenFiles) {
  auto of = patient("a100x8_nvswitch");
  of.around.open_files = 256;
  EXPECT_EQ(only(examine(of), "open-files").advice, "ulimit -n 4096");
  of.around.open_files = std::nullopt;  // unlimited
  EXPECT_THAT(ids(examine(of)), IsEmpty());
}

TEST(SystemRules, Cores) {
  auto of = patient("h200x2_nv18");
  of.host.cores.resize(4);
  EXPECT_THAT(ids(examine(of)), ElementsAre("cores-few"));
  of.host.cores.resize(1);
  EXPECT_THAT(ids(examine(of)), ElementsAre("cores-shared"));
}

TEST(SystemRules, OtherProgramsOnTheCores) {
  auto of = patient("h200x2_nv18");  // 32 cores, 2 ranks
  of.around.load = 30;
  EXPECT_THAT(ids(examine(of)), IsEmpty());
  of.around.load = 31;
  EXPECT_THAT(only(examine(of), "cores-busy").what, HasSubstr("31.0 threads"));
  of.around.ranks = 32;
  of.around.load = 0.5;  // a few programs that wake up now and then
  EXPECT_THAT(ids(examine(of)), testing::Contains("ranks-above-gpus"));
  EXPECT_THAT(ids(examine(of)), testing::Not(testing::Contains("cores-busy")));
}

TEST(SystemRules, ARankFarFromItsGpu) {
  auto of = patient("l40s_x8_pcie_two_sockets");
  for (int rank = 0; rank < 8; ++rank)
    of.measured.ranks.push_back(
        {.rank = rank,
         .world_size = 8,
         .host = of.host.name,
         .hardware_threads = of.host.cores[static_cast<std::size_t>(rank * 8)].hardware_threads});
  EXPECT_THAT(ids(examine(of)), IsEmpty());
  of.measured.ranks[0].hardware_threads = {63};
  const auto finding = only(examine(of), "numa-far");
  EXPECT_THAT(finding.what,
              HasSubstr("Rank 0 runs on NUMA node 1, and GPU 0 is attached to node 0 (distance 32"));
}

TEST(SystemRules, AGpuWhoseNodeHasNoCoreForUs) {
  auto of = patient("l40s_x8_pcie_two_sockets");
  of.host.cores.resize(32);  // those of node 0
  const auto findings = examine(of);
  EXPECT_THAT(ids(findings), ElementsAre("numa-no-cores", "numa-no-cores", "numa-no-cores", "numa-no-cores"));
}

TEST(SystemRules, AKernelThatForbidsReadingOtherProcesses) {
  auto of = patient("h200x2_nv18");
  of.around.cross_memory_attach = false;
  EXPECT_EQ(only(examine(of), "no-cross-memory-attach").severity, Severity::Note);
}

}  // namespace
}  // namespace tandem
