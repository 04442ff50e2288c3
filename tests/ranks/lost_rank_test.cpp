#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell_command.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CommandEnding run_failing_job(const std::string& how) {
  return run_command(FAILING_JOB " " + how);
}

class LostRank : public ::testing::TestWithParam<std::string> {};

TEST_P(LostRank, EndsTheJobAndTheOtherSaysWhatItWaitedFor) {
  const auto ending = run_failing_job(GetParam());
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_THAT(ending.output,
              AllOf(HasSubstr("rank 0 of 2"), HasSubstr("waiting in:  #4 all_reduce \"bucket 3\""),
                    HasSubstr("queued:      #5 all_reduce \"bucket 4\""),
                    HasSubstr("last done:   #3 all_reduce \"bucket 2\"")));
}

// In the middle of training: several steps are in flight, and evaluation and update have streams of their
// own.
TEST_P(LostRank, EndsTrainingAndTheOtherSaysWhatItWaitedFor) {
  const auto ending = run_command(FAILING_TRAINING " " + GetParam());
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("rank 0 of 2"), HasSubstr("all_reduce \"bucket ")));
}

// Its peers cannot tell such a rank from a slow one until the deadline, or until sizes no longer match.
TEST(FailingTraining, ThatSkipsABucketEnds) {
  const auto ending = run_command(FAILING_TRAINING " skips");
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("all_reduce \"bucket "));
}

TEST(FailingTraining, ThatDivergesOnOneRankNamesIt) {
  const auto ending = run_command(FAILING_TRAINING " diverges");
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("training diverged"), HasSubstr("rank 1")));
}

TEST(FailingTraining, ThatIsAskedToEndSaysSo) {
  const auto ending = run_command(FAILING_TRAINING " terminated");
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_THAT(ending.output, HasSubstr("rank 1 of 2"));
}

INSTANTIATE_TEST_SUITE_P(Ways, LostRank, ::testing::Values("killed", "stopped", "exits", "throws"),
                         [](const auto& instance) { return instance.param; });

TEST(LostRankReport, NamesTheDeadlineWhenAPeerIsStopped) {
  EXPECT_THAT(run_failing_job("stopped").output, HasSubstr("did not finish within 2 s"));
}

TEST(LostRankReport, NamesTheRankThatThrew) {
  EXPECT_THAT(run_failing_job("throws").output, AllOf(HasSubstr("boom"), HasSubstr("rank:     1 on")));
}

}  // namespace
}  // namespace tandem
