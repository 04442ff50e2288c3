#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Patient cpu_patient() {
  auto of = patient("cpu_only");
  of.around.libraries.resize(1);  // MPI
  return of;
}

Findings about_start(const Patient& of) {
  Findings findings;
  examine_start(of, findings);
  return findings;
}

Findings with_tasks(const std::string& per_node, int ranks) {
  auto of = cpu_patient();
  of.around.variables["SLURM_TASKS_PER_NODE"] = per_node;
  of.around.ranks = ranks;
  return about_start(of);
}

TEST(StartRules, RanksThatFindThemselvesAlone) {
  auto of = cpu_patient();
  of.measured.ranks_started = true;
  of.measured.ranks = {{.rank = 0}, {.rank = 0}};
  EXPECT_THAT(ids(about_start(of)), ElementsAre("ranks-alone"));
  of.measured.ranks = {{.rank = 0, .world_size = 2}, {.rank = 1, .world_size = 2}};
  EXPECT_THAT(about_start(of), IsEmpty());
}

TEST(StartRules, RanksThatDoNotComeUp) {
  auto of = cpu_patient();
  of.measured.ranks_started = true;
  of.measured.ranks_failure = "it did not end within 60 s";
  const auto finding = only(about_start(of), "ranks-do-not-start");
  EXPECT_THAT(finding.what, HasSubstr("2 ranks"));
  EXPECT_THAT(finding.what, HasSubstr("60 s"));
}

TEST(StartRules, MoreRanksThanTheSlurmJobHasTasks) {
  const auto finding = only(with_tasks("1", 2), "slots-few");
  EXPECT_EQ(finding.severity, Severity::Failure);
  EXPECT_THAT(finding.what, HasSubstr("1 task, and 2 ranks"));
  EXPECT_THAT(finding.advice, HasSubstr("--ntasks=2"));
  EXPECT_THAT(with_tasks("2", 2), IsEmpty());
  EXPECT_THAT(with_tasks("2(x3),1", 7), IsEmpty());
  EXPECT_THAT(only(with_tasks("2(x3),1", 8), "slots-few").what, HasSubstr("7 tasks"));
}

TEST(StartRules, TasksThatAreNotUnderstoodAreNotJudged) {
  for (const auto* text : {"", "x", "2(x", "2(x3", "2(3)", "2;3", "-1", "99999999999"})
    EXPECT_THAT(with_tasks(text, 100), IsEmpty()) << text;
}

TEST(StartRules, SlurmWithoutThePluginThatOpenMpiNeeds) {
  auto of = cpu_patient();
  of.around.srun_mpi = "MPI plugin types are...\n\tpmix\n\tpmi2\n";
  EXPECT_THAT(about_start(of), IsEmpty());
  of.around.srun_mpi = "MPI plugin types are...\n\tnone\n\tpmi2\n";
  EXPECT_EQ(only(about_start(of), "srun-without-pmix").severity, Severity::Warning);
}

TEST(StartRules, AFolderThatTakesNoFiles) {
  auto of = cpu_patient();
  of.around.temp_folder = "/scratch";
  of.around.temp_folder_fault = "Read-only file system";
  EXPECT_EQ(only(about_start(of), "temp-folder").what,
            "Nothing can be written to /scratch: Read-only file system.");
}

TEST(StartRules, BridgesAreTold) {
  auto of = cpu_patient();
  of.around.bridges = {"docker0"};
  EXPECT_EQ(only(about_start(of), "bridges").severity, Severity::Note);
  EXPECT_THAT(about_start(of)[0].what, HasSubstr("docker0 joins"));
  of.around.bridges.emplace_back("virbr0");
  EXPECT_THAT(about_start(of)[0].what, HasSubstr("docker0, virbr0 join "));
}

}  // namespace
}  // namespace tandem
