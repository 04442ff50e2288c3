// Training under a real Slurm, where one answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/atomic_file.h"
#include "report/run_record.h"
#include "report/temporary_folder.h"
#include "support/shell_command.h"

namespace tandem {
namespace {

using testing::HasSubstr;

constexpr const char* kConfig = R"(
model: {name: resnet8, width: 8}
data: {kind: synthetic_images, image: [16, 16, 3], classes: 5, limit: 80, eval_limit: 30}
train: {epochs: 1, micro_batch: 4}
device: {kind: cpu}
)";

class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    const auto ping = run_command("timeout 10 scontrol ping");
    if (ping.exit_code != 0 || ping.output.find("is UP") == std::string::npos)
      GTEST_SKIP() << "no Slurm controller answers";
    write_file_atomically(folder_.path() / "tiny.yaml", kConfig);
  }

  // In the folder, which relative paths begin in.
  CommandEnding in_folder(const std::string& command) const {
    return run_command("cd '" + folder_.path().string() + "' && " + command);
  }

  TemporaryFolder folder_;
};

TEST_F(Slurm, ABatchScriptTrainsFromWhereverItIsSubmitted) {
  const auto written =
      in_folder(LAUNCHER " run --config tiny.yaml --ranks 2 --sbatch 'the job.sh' --out 'the results'");
  ASSERT_EQ(written.exit_code, 0) << written.output;
  const auto job =
      run_command("cd / && timeout 200 sbatch --wait '" + folder_.path().string() + "/the job.sh'");
  ASSERT_EQ(job.exit_code, 0) << job.output << in_folder("cat 'the results'/slurm-*.log").output;
  EXPECT_EQ(read_run_record(folder_.path() / "the results/record.json").world_size, 2);
}

TEST_F(Slurm, SrunStartsTheRanksOfAnAllocation) {
  const auto job = in_folder("timeout 200 salloc --ntasks=2 " LAUNCHER
                             " run --config tiny.yaml --ranks 2 --starter srun --out out");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_EQ(read_run_record(folder_.path() / "out/record.json").world_size, 2);
}

TEST_F(Slurm, TheDoctorFindsThatAJobHasTooFewTasks) {
  const auto job = in_folder("timeout 200 salloc --ntasks=1 " LAUNCHER " doctor --ranks 2");
  EXPECT_EQ(job.exit_code, 2);
  EXPECT_THAT(job.output, HasSubstr("slots-few"));
}

}  // namespace
}  // namespace tandem
