// `launcher doctor` on the machine that the tests run on, and on machines from files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/shell_command.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

CommandEnding doctor(const std::string& arguments, const std::string& variables = "") {
  return run_command(variables + " timeout 120 " LAUNCHER " doctor " + arguments);
}

TEST(DoctorCommand, ExaminesThisMachineAndStartsRanks) {
  const auto ending = doctor("--ranks 2");
  EXPECT_THAT(ending.output, HasSubstr("| MPI "));
  EXPECT_THAT(ending.output, HasSubstr("| mpirun "));
  EXPECT_THAT(ending.output, Not(HasSubstr("ranks-")));
  EXPECT_LE(ending.exit_code, 1) << ending.output;
}

TEST(DoctorCommand, TellsOfVariables) {
  EXPECT_THAT(doctor("--ranks 2", "CUDA_DEVICE_MAX_CONNECTIONS=1").output, HasSubstr("one-connection"));
  EXPECT_THAT(doctor("--ranks 2", "NCCL_P2P_DISABLE=1").output, HasSubstr("NCCL_P2P_DISABLE=1 is set"));
}

TEST(DoctorCommand, AnMpirunThatIsNoOpenMpi) {
  const auto folder = std::string(testing::TempDir()) + "/doctor_command_test";
  run_command("mkdir -p " + folder + " && printf '#!/bin/sh\\necho HYDRA build details:\\n' > " + folder +
              "/mpirun && chmod +x " + folder + "/mpirun");
  const auto ending = doctor("--ranks 2", "PATH=" + folder + ":$PATH");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("mpirun-foreign"));
  EXPECT_THAT(ending.output, HasSubstr(folder + "/mpirun"));
  run_command("rm -r " + folder);
}

TEST(DoctorCommand, ProgramsWhoseLibraryIsMissing) {
  const auto folder = std::string(testing::TempDir()) + "/doctor_command_library";
  run_command("mkdir -p " + folder + " && cp " LAUNCHER " " + folder + "/launcher && printf '#!/bin/sh\\n" +
              "echo probe: libnccl.so.2: cannot open shared object file >&2\\nexit 127\\n' > " + folder +
              "/probe && chmod +x " + folder + "/probe");
  const auto ending = run_command("timeout 120 " + folder + "/launcher doctor --ranks 2");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("programs-do-not-start"));
  EXPECT_THAT(ending.output, HasSubstr("libnccl.so.2: cannot open shared object file"));
  run_command("rm -r " + folder);
}

// As packages and `cmake --install` leave it: programs in bin, what only they start in libexec.
class InstalledPrograms : public testing::Test {
 protected:
  InstalledPrograms()
      : prefix_(std::string(testing::TempDir()) + "/installed " +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    run_command("rm -rf '" + prefix_ + "'");
    const auto installed = run_command(CMAKE " --install " BUILD_FOLDER " --prefix '" + prefix_ + "'");
    EXPECT_EQ(installed.exit_code, 0) << installed.output;
  }
  ~InstalledPrograms() override { run_command("rm -rf '" + prefix_ + "'"); }

  CommandEnding launcher(const std::string& arguments) const {
    return run_command("cd / && timeout 120 '" + prefix_ + "/bin/launcher' " + arguments);
  }

  const std::string prefix_;
};

TEST_F(InstalledPrograms, FindWhatOnlyTheyStart) {
  const auto bin = run_command("ls '" + prefix_ + "/bin'");
  EXPECT_EQ(bin.output, "launcher\ntrainer\n");
  const auto doctor = launcher("doctor --ranks 2");
  EXPECT_LE(doctor.exit_code, 1) << doctor.output;
  EXPECT_THAT(doctor.output, HasSubstr("| MPI "));
  const auto bench = launcher(
      "bench --ranks 2 --links shm --repeats 1 --max-bytes 64 --seconds 0.001 --out '" + prefix_ + "/out'");
  EXPECT_EQ(bench.exit_code, 0) << bench.output;
  EXPECT_EQ(launcher("run --config fashion_resnet.yaml --ranks 2 --dry-run").exit_code, 0);
}

TEST_F(InstalledPrograms, SayWhichOneIsMissing) {
  run_command("rm -r '" + prefix_ + "/" LIBEXEC "'");
  const auto ending = launcher("doctor --ranks 2");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("programs-do-not-start"));
  EXPECT_THAT(ending.output, HasSubstr(LIBEXEC "/tandem/probe is missing"));
}

TEST(ProbeProgram, EndsAsAllProgramsOfTheProjectDo) {
  for (const auto* arguments : {"", "fly", "link", "link --out x --factor 1", "facts --odd"}) {
    const auto ending = run_command(PROBE " " + std::string(arguments));
    EXPECT_EQ(ending.exit_code, 2) << arguments;
    EXPECT_THAT(ending.output, testing::StartsWith("error: ")) << arguments;
  }
  EXPECT_EQ(run_command(PROBE " --help").exit_code, 0);
}

TEST(DoctorCommand, OutputThatIsLostIsAnError) {
  for (const auto* command : {"doctor --ranks 2", "machine", "--help"}) {
    const auto ending = run_command("(" LAUNCHER " " + std::string(command) + " > /dev/full)");
    EXPECT_NE(ending.exit_code, 0) << command;
    EXPECT_THAT(ending.output, HasSubstr("error: The output could not be written.")) << command;
  }
  EXPECT_EQ(run_command("(" LAUNCHER " fly 2> /dev/full)").exit_code, 2);
}

TEST(DoctorCommand, FarMoreRanksThanCores) {
  const auto ending = doctor("--ranks 60000");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("far more ranks on a host than cores"));
}

TEST(DoctorCommand, NoMpirunAtAll) {
  const auto ending = run_command("PATH=/no/such " LAUNCHER " doctor --ranks 2");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("mpirun-missing"));
}

TEST(DoctorCommand, JudgesAMachineFromAFile) {
  const auto dead = doctor("--machine " FIXTURES "/h200x2_dead_link.json");
  EXPECT_EQ(dead.exit_code, 1);
  EXPECT_THAT(dead.output, HasSubstr("NVLink 5 of GPU 1 is down"));
  const auto json = doctor("--json --machine " FIXTURES "/a100x8_nvswitch.json");
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_THAT(json.output, HasSubstr("\"verdict\": \"healthy: 0 failures"));
  EXPECT_EQ(doctor("--machine /no/such/file.json").exit_code, 2);
}

TEST(DoctorCommand, JsonHasTheSameStatus) {
  const auto ending = doctor("--ranks 2 --json");
  EXPECT_THAT(ending.output, HasSubstr("\"exit_status\": " + std::to_string(ending.exit_code)));
}

}  // namespace
}  // namespace tandem
