#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/cpu/cpu_stream.h"
#include "support/rank_test.h"

namespace tandem {
namespace {

class RankGroupTest : public ::testing::Test {
 protected:
  std::unique_ptr<Comm> comm_ = make_mpi_comm(rank_test_session(), rank_test_options());
  RankGroup& ranks_ = comm_->ranks();
};

TEST_F(RankGroupTest, KnowsItsRanks) {
  EXPECT_EQ(ranks_.rank(), rank_test_session().identity().rank);
  EXPECT_EQ(ranks_.world_size(), rank_test_session().identity().world_size);
  EXPECT_FALSE(ranks_.host().empty());
  EXPECT_EQ(ranks_.is_root(), ranks_.rank().value == 0);
}

TEST_F(RankGroupTest, GathersTextsOfDifferentLengths) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank) * 1000, 'a') + '\0' + "x";
  };
  const auto texts = ranks_.all_gather(text_of(ranks_.rank().value));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(ranks_.world_size()));
  for (int r = 0; r < ranks_.world_size(); ++r) EXPECT_EQ(texts[static_cast<std::size_t>(r)], text_of(r));
  EXPECT_EQ(ranks_.all_gather("").back(), "");
}

TEST_F(RankGroupTest, BroadcastsTextFromAnyRoot) {
  for (int root = 0; root < ranks_.world_size(); ++root) {
    const auto mine = "from " + std::to_string(ranks_.rank().value);
    EXPECT_EQ(ranks_.broadcast(mine, Rank{root}), "from " + std::to_string(root));
    EXPECT_EQ(ranks_.broadcast("", Rank{root}), "");
  }
}

// 1e16 + 1 - 1e16 is 0 or 1 depending on the order, so only the order of ranks gives this exact result.
TEST_F(RankGroupTest, SumsInTheOrderOfRanks) {
  const std::array<double, 3> terms{1e16, 1.0, -1e16};
  const int rank = ranks_.rank().value;
  double expected = 0.0;
  for (int r = 0; r < ranks_.world_size(); ++r) expected += terms[static_cast<std::size_t>(r) % 3];
  const std::vector<double> mine{terms[static_cast<std::size_t>(rank) % 3], static_cast<double>(rank)};
  const auto sums = ranks_.sum(mine);
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0], expected);
  EXPECT_EQ(sums[1], ranks_.world_size() * (ranks_.world_size() - 1) / 2.0);
  EXPECT_TRUE(ranks_.sum({}).empty());
}

TEST_F(RankGroupTest, TakesItsPlaceAmongCollectives) {
  CpuStream stream;
  std::vector<float> values(100000, 1.0f);
  comm_->communicator().all_reduce_sum({values.data(), DType::F32, Shape{100000}}, stream);
  ranks_.barrier();
  EXPECT_EQ(values.front(), static_cast<float>(ranks_.world_size()));  // the barrier came behind it
  stream.synchronize();
}

TEST_F(RankGroupTest, RefusesSumsOfDifferentLengthsOnAllRanks) {
  if (ranks_.world_size() == 1) GTEST_SKIP() << "needs peers";
  const std::vector<double> values(static_cast<std::size_t>(ranks_.rank().value + 1));
  EXPECT_THROW(ranks_.sum(values), Error);
}

}  // namespace
}  // namespace tandem
