#include "train/startup_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/single.h"
#include "core/error.h"
#include "support/thread_ranks.h"
#include "support/training_run.h"
#include "train/replicas.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What each rank's Error said; empty for a rank that threw nothing.
std::vector<std::string> messages(const std::vector<std::exception_ptr>& thrown) {
  std::vector<std::string> texts;
  for (const auto& failure : thrown) {
    texts.emplace_back();
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const Error& error) {
      texts.back() = error.message();
    }
  }
  return texts;
}

std::vector<std::string> compare(const std::vector<std::string>& facts) {
  return messages(ThreadRanks(static_cast<int>(facts.size())).run([&](RankGroup& group) {
    expect_agreement(facts[static_cast<std::size_t>(group.rank().value)], group);
  }));
}

TEST(ExpectAgreement, IsSilentWhereAllAgree) {
  EXPECT_THAT(compare({"a: 1\nb: 2\n", "a: 1\nb: 2\n", "a: 1\nb: 2\n"}), Each(IsEmpty()));
}

TEST(ExpectAgreement, NamesTheFirstDifferenceOnEveryRank) {
  EXPECT_THAT(compare({"a: 1\nb: 2\nc: 3\n", "a: 1\nb: 2\nc: 3\n", "a: 1\nb: 5\nc: 4\n"}),
              Each(AllOf(HasSubstr("rank 0 and rank 2"), HasSubstr("rank 0: b: 2"), HasSubstr("rank 2: b: 5"),
                         ::testing::Not(HasSubstr("c: ")))));
}

TEST(ExpectAgreement, NamesALineThatOnlyOneHas) {
  EXPECT_THAT(compare({"a: 1\n", "a: 1\nb: 2\n"}),
              Each(AllOf(HasSubstr("rank 0: (nothing)"), HasSubstr("rank 1: b: 2"))));
  EXPECT_THAT(compare({"a: 1\nb: 2\n", ""}),
              Each(AllOf(HasSubstr("rank 0: a: 1"), HasSubstr("rank 1: (nothing)"))));
}

// A job of ranks that each set up their own; nothing is communicated before they agree.
std::vector<std::string> start(const std::vector<TrainingSetup>& setups) {
  return messages(ThreadRanks(static_cast<int>(setups.size())).run([&](RankGroup& group) {
    const auto communicator = make_single_communicator();
    TrainingRun(setups[static_cast<std::size_t>(group.rank().value)], *communicator, group);
  }));
}

TEST(TrainingJobStart, NeedsTheSameParametersOnAllRanks) {
  const TrainingSetup setup{.model = tiny_resnet(ResNetNorm::Batch), .job = small_job(1, 0.1)};
  auto wider = setup;
  wider.model.classes = 6;
  EXPECT_THAT(start({setup, setup}), Each(IsEmpty()));
  EXPECT_THAT(start({setup, wider}), Each(AllOf(HasSubstr("rank 0: parameters: "), HasSubstr("rank 1: "))));
}

TEST(TrainingJobStart, NeedsTheSameBucketsOnAllRanks) {
  const TrainingSetup setup{.model = tiny_resnet(ResNetNorm::Batch), .job = small_job(1, 0.1)};
  auto finer = setup;
  finer.job.grouping = Grouping::PerTensor;
  EXPECT_THAT(start({setup, finer}), Each(AllOf(HasSubstr("bucket"), HasSubstr("first difference"))));
}

TEST(ExpectEqualReplicas, NamesTheRanksThatDiffer) {
  const auto said = messages(ThreadRanks(3).run([](RankGroup& group) {
    const auto communicator = make_single_communicator();
    const TrainingRun run({.model = tiny_gpt(), .job = small_job(1, 0.1)}, *communicator, group);
    if (group.rank().value == 1) *run.store().master({0}).data<float>() += 1e-7f;
    CpuDevice device;
    const auto stream = device.make_stream(StreamRole::Compute);
    expect_equal_replicas(run.store(), device, group, *stream);
  }));
  EXPECT_THAT(said, Each(HasSubstr("the parameters of rank 1 differ from those of rank 0")));
}

}  // namespace
}  // namespace tandem
