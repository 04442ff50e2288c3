#include "doctor/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using testing::ElementsAre;

TEST(Facts, AnswersTravelAmongOtherLines) {
  const ProbeFacts facts{
      .cuda_built = true,
      .libraries = {{.name = "NCCL", .header = "2.28.3", .loaded = "2.28.9", .copies = {"/a"}}}};
  EXPECT_EQ(read_probe_facts("warning: odd\n" + line_of(facts) + "bye"), facts);
  EXPECT_EQ(read_probe_facts("nothing\n"), std::nullopt);
  const RankView first{.rank = 0, .world_size = 2, .host = "a", .hardware_threads = {0, 4}};
  const RankView second{.rank = 1, .world_size = 2, .host = "b\n", .devices = "1"};
  EXPECT_THAT(read_rank_views(line_of(first) + "mpirun says\n" + line_of(second)),
              ElementsAre(first, second));
}

TEST(Facts, ATestThatDidNotEndIsNamed) {
  const PeerTest good{.from = 0, .to = 1, .access = true, .gb_per_s = 300};
  const auto begun = begin_line("GPU 0 to GPU 1") + line_of(good) + begin_line("GPU 1 to GPU 0");
  const auto hung = read_peer_tests(begun);
  EXPECT_THAT(hung.peers, ElementsAre(good));
  EXPECT_EQ(hung.unfinished, "GPU 1 to GPU 0");
  const PcieUnderLoad link{.gpu = 1, .generation = 5, .width = 16, .to_device_gb_per_s = 55};
  const auto whole = read_peer_tests(begun + line_of(link) + end_line());
  EXPECT_EQ(whole.unfinished, "");
  EXPECT_THAT(whole.pcie, ElementsAre(link));
}

TEST(Facts, AnAnswerThatIsCutOffIsAnError) {
  const auto line = line_of(PeerTest{.from = 0, .to = 1});
  EXPECT_THROW(read_peer_tests(line.substr(0, line.size() / 2)), InputError);
}

}  // namespace
}  // namespace tandem
