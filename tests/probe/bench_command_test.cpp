// `launcher bench` with real ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/bench_record.h"
#include "support/shell_command.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BenchCommand : public testing::Test {
 protected:
  BenchCommand()
      : folder_(
            fs::path(testing::TempDir()) /
            ("bench_command_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(folder_);
  }
  ~BenchCommand() override { fs::remove_all(folder_); }

  CommandEnding bench(const std::string& arguments) const {
    return run_command("timeout 120 " LAUNCHER " bench --max-bytes 4kb --seconds 0.001 --out " +
                       folder_.string() + ' ' + arguments);
  }

  const fs::path folder_;
};

TEST_F(BenchCommand, MeasuresEveryLinkAndVariantAndChecksResults) {
  const auto ending =
      bench("--ranks 2 --repeats 2 --links shm,tcp,tcp@1gbit+50us --variant comm.backend=ring");
  ASSERT_EQ(ending.exit_code, 0) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("shm : tcp"));
  const auto result = read_bench_result(folder_ / "bench.json");
  ASSERT_EQ(result.links.size(), 6U);
  EXPECT_EQ(result.ranks, 2);
  EXPECT_EQ(result.links[0].label, "shm");
  EXPECT_EQ(result.links[4].label, "tcp comm.backend=ring");
  EXPECT_THAT(result.links[4].description, HasSubstr("ring"));
  EXPECT_THAT(result.links[2].description, HasSubstr("1 Gbit/s"));
  for (const auto& link : result.links) {
    EXPECT_EQ(link.repeats, 2) << link.label;
    EXPECT_EQ(link.fits.size(), 3U) << link.label;
    EXPECT_EQ(link.pairs.size(), link.label.starts_with("tcp@") ? 0U : 2U) << link.label;
    for (const auto& point : link.points) EXPECT_EQ(point.wrong, 0) << link.label;
  }
  EXPECT_TRUE(fs::exists(folder_ / "bench.md"));
  EXPECT_TRUE(fs::exists(folder_ / "bench.csv"));
}

TEST_F(BenchCommand, OneRankHasNoLink) {
  const auto ending = bench("--ranks 1");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("at least two ranks"));
}

TEST_F(BenchCommand, RefusesWhatItDoesNotKnow) {
  for (const auto* arguments :
       {"--ranks 2 --links carrier-pigeon", "--ranks 2 --max-bytes many", "--factor 1", "--max-bytes 0",
        "--max-bytes -5", "--max-bytes 100tb", "--seconds nan", "--ranks 60000",
        "--ranks 2 --links shm --variant comm.nope=1"}) {
    const auto ending = bench(arguments);
    EXPECT_EQ(ending.exit_code, 2) << arguments << '\n' << ending.output;
    EXPECT_THAT(ending.output, testing::Not(HasSubstr("run 1 of"))) << "told before anything starts";
  }
}

TEST_F(BenchCommand, ALinkThatIsNotThereEndsWithOneMessage) {
  const auto ending = bench("--ranks 2 --links nvlink");
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_THAT(ending.output, HasSubstr("this link is none that CPU ranks can choose"));
}

TEST_F(BenchCommand, AFolderThatCannotBeWritten) {
  const auto ending = run_command("timeout 60 " LAUNCHER " bench --ranks 2 --out /proc/none");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.output, HasSubstr("/proc/none"));
}

}  // namespace
}  // namespace tandem
