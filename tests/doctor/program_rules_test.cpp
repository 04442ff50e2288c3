#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Patient cpu_patient() {
  auto of = patient("cpu_only");
  of.around.cuda_built = false;
  of.around.libraries.resize(1);  // MPI
  return of;
}

Findings about_programs(const Patient& of) {
  Findings findings;
  examine_programs(of, findings);
  return findings;
}

TEST(ProgramRules, TheMpirunOfAnotherVersion) {
  auto of = cpu_patient();
  EXPECT_THAT(about_programs(of), IsEmpty());
  of.around.mpirun = "mpirun (Open MPI) 5.0.3";
  of.around.mpirun_path = "/opt/ompi/bin/mpirun";
  const auto finding = only(about_programs(of), "mpirun-foreign");
  EXPECT_EQ(finding.severity, Severity::Failure);
  EXPECT_THAT(finding.what, HasSubstr("5.0.3"));
  EXPECT_THAT(finding.what, HasSubstr("/opt/ompi/bin/mpirun"));
  EXPECT_THAT(finding.what, HasSubstr("4.1.6 (/lib/libmpi.so.40)"));
}

TEST(ProgramRules, TheMpirunOfAnotherMpi) {
  auto of = cpu_patient();
  of.around.mpirun = "HYDRA build details:";
  EXPECT_THAT(ids(about_programs(of)), ElementsAre("mpirun-foreign"));
  of.around.mpirun = "Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619";
  EXPECT_THAT(ids(about_programs(of)), ElementsAre("mpirun-foreign"));
  of.around.mpirun = "";
  EXPECT_THAT(ids(about_programs(of)), ElementsAre("mpirun-missing"));
}

TEST(ProgramRules, ALibraryOfAnotherRelease) {
  auto of = patient("h200x2_nv18");
  EXPECT_THAT(about_programs(of), IsEmpty());  // 2.28.9 for 2.28.3
  of.around.libraries[2].loaded = "2.18.5";
  const auto finding = only(about_programs(of), "library-version");
  EXPECT_THAT(finding.what, HasSubstr("NCCL 2.18.5 was loaded from /usr/lib/libnccl.so.2"));
  EXPECT_THAT(finding.what, HasSubstr("built for 2.28.3"));
}

TEST(ProgramRules, MinorReleasesOfCudnnAreCompatible) {
  auto of = patient("h200x2_nv18");
  of.around.libraries.push_back({.name = "cuDNN", .header = "9.14.0", .loaded = "9.19.1", .path = "/l"});
  EXPECT_THAT(about_programs(of), IsEmpty());
  of.around.libraries.back().loaded = "8.9.7";
  EXPECT_THAT(ids(about_programs(of)), ElementsAre("library-version"));
}

TEST(ProgramRules, TwoCopiesOfALibrary) {
  auto of = patient("h200x2_nv18");
  of.around.libraries[2].copies = {"/usr/lib/libnccl.so.2", "/venv/nvidia/nccl/lib/libnccl.so.2"};
  EXPECT_THAT(only(about_programs(of), "library-copies").what, HasSubstr("and /venv/nvidia"));
}

TEST(ProgramRules, ADriverThatIsTooOld) {
  auto of = patient("a100x8_nvswitch");  // CUDA up to 12.2
  of.around.libraries[1].loaded = "12.8";
  EXPECT_THAT(about_programs(of), IsEmpty());
  of.around.libraries[1] = {.name = "CUDA runtime", .header = "13.0", .loaded = "13.0"};
  EXPECT_THAT(only(about_programs(of), "driver-old").what, HasSubstr("up to 12.2"));
}

TEST(ProgramRules, ProgramsThatDoNotStart) {
  auto of = patient("h200x2_nv18");
  of.around.probe_failure = "libnccl.so.2: cannot open shared object file";
  EXPECT_THAT(only(about_programs(of), "programs-do-not-start").what, HasSubstr("libnccl.so.2"));
}

}  // namespace
}  // namespace tandem
