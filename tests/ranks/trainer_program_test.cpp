// The trainer under mpirun: what a user is told when ranks cannot start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/shell_command.h"
#include "support/trace_check.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr const char* kConfig = R"(
model: {name: resnet8, width: 4}
data: {kind: synthetic_images, image: [8, 8, 1], classes: 5, limit: 64, eval_limit: 10}
train: {epochs: 1, micro_batch: 4}
device: {kind: cpu}
)";

class TrainerProgram : public ::testing::Test {
 protected:
  TrainerProgram() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "tiny.yaml") << kConfig;
  }
  ~TrainerProgram() override { std::filesystem::remove_all(folder_); }

  // One rank for each list of further arguments.
  CommandEnding run(const std::vector<std::string>& arguments_by_rank) const {
    std::string command = MPIRUN;
    for (std::size_t rank = 0; rank < arguments_by_rank.size(); ++rank) {
      command += std::string(rank > 0 ? " :" : "") + " -np 1 " TRAINER " --config " +
                 (folder_ / "tiny.yaml").string() + " --out " + (folder_ / "out").string() + " " +
                 arguments_by_rank[rank];
    }
    return run_command(command);
  }

  std::filesystem::path record() const { return folder_ / "out" / "record.json"; }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("tandem_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
       std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + std::to_string(getpid()));
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

void expect_one_error(const CommandEnding& ending) {
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_EQ(count(ending.output, "error:"), 1) << ending.output;
}

TEST_F(TrainerProgram, TrainsAndLeavesARecord) {
  const auto ending = run({"", ""});
  EXPECT_EQ(ending.exit_code, 0) << ending.output;
  EXPECT_TRUE(std::filesystem::exists(record()));
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Eight steps, two of them warm-up; a later run without them leaves neither file.
TEST_F(TrainerProgram, LeavesATraceAndMetricsWhereAskedTo) {
  const std::string trace = "--set report.metrics=trace --set train.warmup_steps_excluded=2";
  const auto ending = run({trace, trace});
  ASSERT_EQ(ending.exit_code, 0) << ending.output;
  const auto folder = record().parent_path();
  EXPECT_NO_THROW(TraceCheck::check(text_of(folder / "trace.json")));
  const auto timelines = nlohmann::json::parse(text_of(record()))["timelines"];
  ASSERT_EQ(timelines.size(), 6u);
  EXPECT_EQ(timelines[0]["step"], 2);
  const auto metrics = text_of(folder / "metrics.jsonl");
  EXPECT_EQ(count(metrics, "\n"), 8);
  for (int step = 0; step < 8; ++step) EXPECT_EQ(count(metrics, fmt::format("{{\"step\":{},", step)), 1);

  const std::string off = "--set report.metrics=off";
  EXPECT_EQ(run({off, off}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "trace.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "metrics.jsonl"));
}

// Found before MPI starts, when data are opened, and when ranks are counted.
TEST_F(TrainerProgram, PrintsAnErrorOfAllRanksOnce) {
  for (const std::string wrong :
       {"--set model.nme=x", "--set optim.lr=-1", "--set data.limit=3", "--set train.global_batch=7"}) {
    SCOPED_TRACE(wrong);
    expect_one_error(run({wrong, wrong, wrong}));
    EXPECT_FALSE(std::filesystem::exists(record()));
  }
}

TEST_F(TrainerProgram, PrintsAnErrorThatOnlyALaterRankHas) {
  const auto ending = run({"", "--set model.nme=x"});
  expect_one_error(ending);
  EXPECT_THAT(ending.output, HasSubstr("unknown key \"nme\""));
}

TEST_F(TrainerProgram, NamesTheFirstDifferenceOfRanksWithOtherConfigurations) {
  const auto ending = run({"--set optim.momentum=0.5", "--set optim.momentum=0.75"});
  expect_one_error(ending);
  EXPECT_THAT(ending.output,
              ::testing::AllOf(HasSubstr("rank 0:   momentum: 0.5"), HasSubstr("rank 1:   momentum: 0.75")));
}

}  // namespace
}  // namespace tandem
