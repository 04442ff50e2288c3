// What ranks/lost_rank_test.cpp says of CPU ranks, of two that share a GPU or have one each (gpu_ranks.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cuda/gpu_ranks.h"
#include "support/shell_command.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct WayToEnd {
  const char* way;
  const char* said;
};
void PrintTo(const WayToEnd& tested, std::ostream* out) {
  *out << tested.way;
}

class LostGpuRank : public ::testing::TestWithParam<WayToEnd> {
  void SetUp() override {
    if (const auto reason = reason_against_gpu_ranks(2); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(LostGpuRank, EndsTrainingAndTheOtherSaysWhy) {
  const auto ending = run_command(std::string(FAILING_GPU_TRAINING " ") + GetParam().way);
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_NE(ending.exit_code, kTimeoutOfTest) << ending.output;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("rank "), HasSubstr(GetParam().said)));
}

constexpr const char* kWaited = "all_reduce \"bucket ";
INSTANTIATE_TEST_SUITE_P(Ways, LostGpuRank,
                         ::testing::Values(WayToEnd{"killed", kWaited}, WayToEnd{"stopped", kWaited},
                                           WayToEnd{"exits", kWaited}, WayToEnd{"throws", "boom"},
                                           WayToEnd{"skips", kWaited},
                                           WayToEnd{"diverges", "training diverged"},
                                           WayToEnd{"terminated", "rank 1 of 2"}),
                         [](const auto& instance) { return instance.param.way; });

}  // namespace
}  // namespace tandem
