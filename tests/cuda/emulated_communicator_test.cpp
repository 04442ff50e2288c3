#include "comm/cuda/emulated_communicator.h"

#include <gmock/gmock.h>

#include "device/cuda/cuda_replay.h"
#include "gpu_test.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EmulatedCommunicatorTest : public GpuTest, public ::testing::WithParamInterface<EmulatedPath> {
 protected:
  std::unique_ptr<Communicator> make(int ranks) {
    return make_emulated_communicator(*device_, measured_link(GetParam(), ranks));
  }
  HostTensor numbers(std::int64_t count) {
    HostTensor values({count});
    for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 251 - 125);
    return values;
  }
};

// Sizes below one 16-byte word, not a multiple of one, and beyond a block's chunk.
TEST_P(EmulatedCommunicatorTest, LeavesValuesAsTheyAre) {
  for (const std::int64_t count : {1, 3, 7, 8, 1001, 300007}) {
    for (const auto dtype : {DType::F32, DType::BF16}) {
      const auto values = numbers(count);
      const GpuTensor tensor(*device_, *stream_, values, dtype);
      const auto communicator = make(8);
      communicator->all_reduce_sum(tensor.view(), *stream_);
      communicator->broadcast(tensor.view(), Rank{0}, *stream_);
      EXPECT_EQ(relative_error(tensor.values(), values), 0.0) << count << " of " << name_of(dtype);
    }
  }
}

TEST_P(EmulatedCommunicatorTest, RunsInAGraph) {
  const auto values = numbers(100003);
  const GpuTensor tensor(*device_, *stream_, values, DType::F32);
  const auto communicator = make(2);
  CudaReplay replay(as_cuda(*stream_));
  for (int run = 0; run < CudaReplay::kEagerRuns + 2; ++run) {
    replay.run([&] { communicator->all_reduce_sum(tensor.view(), *stream_); });
  }
  EXPECT_TRUE(replay.captured());
  EXPECT_EQ(relative_error(tensor.values(), values), 0.0);
}

TEST_P(EmulatedCommunicatorTest, SaysThatItIsEmulated) {
  const auto communicator = make(8);
  EXPECT_EQ(communicator->world_size(), 8);
  EXPECT_EQ(communicator->rank(), Rank{0});
  EXPECT_THAT(communicator->description(),
              AllOf(HasSubstr("emulated link"), HasSubstr("8 ranks"), HasSubstr("contention not validated")));
}

TEST_P(EmulatedCommunicatorTest, RefusesToStandForNobody) {
  EXPECT_THROW(make(1), Error);
}

INSTANTIATE_TEST_SUITE_P(Paths, EmulatedCommunicatorTest,
                         ::testing::Values(EmulatedPath::Peer, EmulatedPath::HostStaged),
                         [](const auto& instance) {
                           return instance.param == EmulatedPath::Peer ? "Peer" : "HostStaged";
                         });

}  // namespace
}  // namespace tandem
