// Runs that must end with one error, before they have cost anything. The tests start the real trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace tandem {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Ending {
  int exit_code;
  std::string output;
};

int count_of(const std::string& word, const std::string& text) {
  int count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class TrainerFaults : public ::testing::Test {
 protected:
  TrainerFaults() {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "tiny.yaml")
        << "model: {name: gpt, layers: 1, heads: 1, channels: 4, context: 4}\n"
           "data: {kind: synthetic_tokens, limit: 32, eval_limit: 4}\n"
           "train: {micro_batch: 4, epochs: 1}\n"
           "comm: {timeout_s: 20}\n";
    std::ofstream(folder_ / "image.yaml")
        << "model: {name: resnet8, width: 1}\n"
           "data: {kind: synthetic_images, image: [1, 1, 1], limit: 8, eval_limit: 4}\n"
           "train: {micro_batch: 1, epochs: 1}\n";
  }
  ~TrainerFaults() override { fs::remove_all(folder_); }

  Ending shell(const std::string& line) const {
    FILE* job = popen(("cd '" + folder_.string() + "' && { " + line + " ; } 2>&1 < /dev/null").c_str(), "r");
    Ending ending{};
    std::array<char, 4096> part{};
    while (const auto bytes = fread(part.data(), 1, part.size(), job))
      ending.output.append(part.data(), bytes);
    const int status = pclose(job);
    ending.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ending;
  }
  // The job's two ranks run `script` with the shell, in which $R is the rank.
  Ending two_ranks(const std::string& script) const {
    return shell(MPIRUN " sh -c 'R=$OMPI_COMM_WORLD_RANK; " + script + "'");
  }
  // Refused with one error of these words, before the first step.
  static void expect_refused(const Ending& ending, const std::string& words) {
    EXPECT_EQ(ending.exit_code, 2) << ending.output;
    EXPECT_EQ(count_of("error:", ending.output), 1) << ending.output;
    EXPECT_THAT(ending.output, AllOf(HasSubstr(words), Not(HasSubstr("epoch "))));
  }

  static constexpr const char* kTiny = TRAINER " --config tiny.yaml ";
  const fs::path folder_ = fs::temp_directory_path() / ("tandem_trainer_faults_" + std::to_string(getpid()));
};

TEST_F(TrainerFaults, ADirectoryThatCannotBeWrittenEndsTheRunBeforeTraining) {
  expect_refused(shell(std::string(kTiny) + "--out tiny.yaml"), "the record of the run cannot be written");
  expect_refused(two_ranks(std::string("exec ") + kTiny + "--out tiny.yaml"),
                 "the record of the run cannot be written");
}

TEST_F(TrainerFaults, ALinkThatIsNotThereEndsTheRunBeforeTraining) {
  expect_refused(shell(std::string(kTiny) + "--set comm.expect=shm"), "the bytes did not take the link");
}

TEST_F(TrainerFaults, SeveralRanksMustCommunicate) {
  expect_refused(two_ranks(std::string("exec ") + kTiny + "--set comm.backend=single"),
                 "several ranks must communicate");
}

TEST_F(TrainerFaults, BatchNormOfOneRowSaysWhatToChange) {
  expect_refused(shell(TRAINER " --config image.yaml"), "raise train.micro_batch");
}

TEST_F(TrainerFaults, RanksWithOtherDataDoNotTrain) {
  for (const char* rank : {"0", "1"}) {
    fs::create_directories(folder_ / rank);
    std::ofstream(folder_ / rank / "text") << std::string(2000, *rank);
  }
  const auto ending = two_ranks(std::string("cd $R; exec ") + TRAINER +
                                " --config ../tiny.yaml --set data.kind=text --set data.path=text"
                                " --set data.limit=0 --set data.eval_limit=0");
  EXPECT_EQ(ending.exit_code, 1) << ending.output;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("do not run the same job"), HasSubstr("rank 1: training data: "),
                                   Not(HasSubstr("epoch "))));
}

TEST_F(TrainerFaults, DivergenceEndsTheRunOnce) {
  for (const auto& ending :
       {shell(std::string(kTiny) +
              "--set optim.lr=1000 --set optim.weight_decay=100 --set train.epochs=1000"),
        two_ranks(std::string("exec ") + kTiny +
                  "--set optim.lr=1000 --set optim.weight_decay=100 --set train.epochs=1000")}) {
    EXPECT_EQ(ending.exit_code, 2) << ending.output;
    EXPECT_EQ(count_of("error: training diverged", ending.output), 1) << ending.output;
  }
}

TEST_F(TrainerFaults, ARankStoppedBeforeItStartsEndsTheJob) {
  const auto ending =
      two_ranks(std::string("[ $R = 0 ] || kill -STOP $$; exec ") + kTiny + "--set comm.timeout_s=2");
  EXPECT_EQ(ending.exit_code, 75) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("MPI_Init did not return within 2 s"));
}

TEST_F(TrainerFaults, AReaderThatGoesAwayEndsNothing) {
  shell(std::string("{ ") + kTiny + "--out out; } | true");
  EXPECT_TRUE(fs::exists(folder_ / "out" / "record.json"));
}

}  // namespace
}  // namespace tandem
