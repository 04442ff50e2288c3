#include "launcher/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"
#include "launcher/child_process.h"
#include "launcher/fake_launch.h"
#include "launcher/forked.h"
#include "launcher/gathering.h"
#include "launcher/report.h"
#include "report/atomic_file.h"
#include "report/launch_record.h"
#include "report/run_record.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

RunOptions options_in(const TemporaryFolder& folder) {
  return {.launch = fake_launch(folder.path()), .out = folder.path()};
}

TEST(Run, StartsTheTrainerWithItsArguments) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"optim.lr=0.4", "data.path=/a b"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command(options), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("--config " + options.launch.config + " --set optim.lr=0.4 --set 'data.path=/a b'"));
  const auto record = read_run_record(folder.path() / "record.json");
  EXPECT_THAT(record.notes, UnorderedElementsAre("optim.lr=0.4", "data.path=/a b", "a note | with a bar"));
}

TEST(Run, DryRunPrintsTheLineAndStartsNothing) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.dry_run = true;
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_command(options), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), StartsWith("mpirun -np 2 "));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "record.json"));
}

TEST(Run, AFailedRunLeavesItsLogAndHowItEnded) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"seed=101", "comm.link=tcp"};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    run_command(options);
    ADD_FAILURE() << "did not throw";
  } catch (const RunFailed& failed) {
    EXPECT_EQ(failed.exit_status(), 1) << "3 is the fake trainer's own code";
    EXPECT_THAT(failed.what(), HasSubstr((folder.path() / "log.txt").string()));
  }
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("to standard output"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(HasSubstr("Primary job")))
      << "mpirun repeats the exit status";
  const auto launch = read_launch_record(folder.path() / "launch.json");
  EXPECT_EQ(launch.state, LaunchRecord::kFailed);
  EXPECT_EQ(launch.exit_status, 3);
  EXPECT_THAT(launch.last_words, testing::Contains("to standard output"));
  EXPECT_THAT(read_file(folder.path() / "log.txt"), HasSubstr("Primary job")) << "the log has all";
  EXPECT_THAT(render_report({folder.path()}, ReportFormat::Markdown),
              HasSubstr("This run did not finish: exit status 3."));
}

TEST(Run, MistakesAreToldBeforeAnythingStarts) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"optim.lr=-1"};
  EXPECT_THROW(run_command(options), InputError);
  options.overrides = {"train.global_batch=127"};  // no multiple of 2 ranks
  EXPECT_THROW(run_command(options), InputError);
  options = options_in(folder);
  options.launch.trainer = folder.path() / "trainer";
  EXPECT_THROW(run_command(options), InputError);
  options = options_in(folder);
  options.launch.config = "no_such_config";
  EXPECT_THROW(run_command(options), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "record.json"));
}

TEST(Run, AnotherLaunchersFolderIsRefused) {
  const TemporaryFolder folder;
  const FolderLock lock(folder.path());
  EXPECT_THROW(run_command(options_in(folder)), InputError);
}

TEST(Run, AHostThatCannotBeReachedIsOneError) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.launch.hosts = "nowhere:1,neither:1";
  options.launch.agent = "false";
  try {
    run_command(options);
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().where, "nowhere, neither");
    EXPECT_THAT(error.problem().advice, HasSubstr("false nowhere"));
  }
}

TEST(Run, WithoutGpusAConfigThatWantsThemIsRefused) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"device.kind=cuda"};
  options.launch.machine = CPU_MACHINE;
  options.dry_run = true;
  EXPECT_THROW(run_command(options), InputError);
  options.overrides = {};
  options.launch.ranks = 5000;
  EXPECT_THROW(run_command(options), InputError) << "far more ranks than cores";
  options.launch.ranks = 2;
  options.dry_run = false;
  EXPECT_THROW(run_command(options), InputError) << "a machine that is only described cannot run";
}

TEST(Run, TwoNamesOfOneHostAreRefused) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.launch.hosts = "localhost:1,127.0.0.1:1";
  try {
    run_command(options);
    ADD_FAILURE() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("localhost and 127.0.0.1"));
  }
}

TEST(Run, ABatchScriptIsOneThatTheShellUnderstands) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.launch.machine = GPU_MACHINE;
  options.launch.ranks = 4;
  options.launch.hosts = "node1:2,node2:2";
  options.overrides = {"data.path=/a b"};
  options.sbatch = folder.path() / "job.sh";
  options.minutes = 90;
  options.out = folder.path() / "not there yet";
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_command(options), 0);
  testing::internal::GetCapturedStdout();
  const auto script = read_file(options.sbatch);
  for (const auto* line :
       {"#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=2\n", "#SBATCH --time=01:30:00\n",
        "#SBATCH --gpus-per-node=2\n", "exec srun --mpi=pmix ", "--gpu-bind=none", "'data.path=/a b'"})
    EXPECT_THAT(script, HasSubstr(line));
  EXPECT_EQ(run_child({.command = {"bash", "-n", options.sbatch.string()}}).exit_status, 0);
  EXPECT_THAT(script, HasSubstr("#SBATCH --chdir=" + std::filesystem::current_path().string()));
  EXPECT_TRUE(std::filesystem::is_directory(options.out)) << "Slurm does not make the folder of its log";
}

TEST(Run, ASignalEndsTheRanks) {
  const TemporaryFolder folder;
  auto options = options_in(folder);
  options.overrides = {"seed=104"};
  Forked launcher([&] {
    try {
      return run_command(options);
    } catch (const RunFailed& failed) {
      return failed.exit_status();
    }
  });
  ASSERT_TRUE(appears(folder.path() / "waiting"));
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), 128 + SIGTERM);
  EXPECT_EQ(read_launch_record(folder.path() / "launch.json").signal, SIGTERM);
  EXPECT_TRUE(appears(folder.path() / "ended")) << "the rank was not told";
}

}  // namespace
}  // namespace tandem
