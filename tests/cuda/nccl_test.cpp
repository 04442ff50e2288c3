#include <gmock/gmock.h>

#include <functional>

#include "comm/comm_setup.h"
#include "comm/cuda/nccl_communicator.h"
#include "device/cuda/cuda_replay.h"
#include "gpu_test.h"

namespace tandem {
namespace {

// NCCL with one rank: no bytes travel, but everything around them happens.
class NcclTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) comm_ = make_single_comm({});
  }
  NcclRanks make(const NcclOptions& options = {}) {
    return make_nccl_ranks(*device_, comm_->ranks(), comm_->watchdog(), options);
  }
  static HostTensor numbers() {
    HostTensor values({1001});
    for (std::int64_t i = 0; i < values.elements(); ++i) values[i] = static_cast<float>(i % 251 - 125);
    return values;
  }

  std::unique_ptr<Comm> comm_;
};

TEST_F(NcclTest, IsTheReleaseItWasCompiledAgainst) {
  const auto versions = nccl_versions();
  EXPECT_NO_THROW(expect_usable_nccl(versions));
  EXPECT_EQ(versions.copies.size(), 1u);
  EXPECT_NE(versions.path, "unknown");
}

TEST_F(NcclTest, EveryCollectiveOfOneRankLeavesTheValues) {
  const auto ranks = make();
  auto& communicator = *ranks.communicator;
  const std::vector<std::function<void(TensorView)>> collectives{
      [&](TensorView tensor) { communicator.all_reduce_sum(tensor, *stream_); },
      [&](TensorView tensor) { communicator.reduce_scatter_sum(tensor, *stream_); },
      [&](TensorView tensor) { communicator.all_gather(tensor, *stream_); },
      [&](TensorView tensor) { communicator.broadcast(tensor, Rank{0}, *stream_); }};
  for (const auto dtype : {DType::F32, DType::BF16, DType::F16}) {
    for (std::size_t which = 0; which < collectives.size(); ++which) {
      const GpuTensor tensor(*device_, *stream_, numbers(), dtype);
      communicator.label_next("a test");
      collectives[which](tensor.view());
      EXPECT_EQ(relative_error(tensor.values(), numbers()), 0.0) << "collective " << which;
    }
  }
  EXPECT_NO_THROW(communicator.throw_if_failed());
  EXPECT_EQ(communicator.rank(), Rank{0});
  EXPECT_EQ(communicator.world_size(), 1);
}

TEST_F(NcclTest, CollectivesAreCapturedInAGraph) {
  const auto ranks = make();
  const GpuTensor tensor(*device_, *stream_, numbers(), DType::BF16);
  {
    CudaReplay replay(as_cuda(*stream_));
    for (int run = 0; run < CudaReplay::kEagerRuns + 3; ++run) {
      replay.run([&] { ranks.communicator->all_reduce_sum(tensor.view(), *stream_); });
    }
    EXPECT_TRUE(replay.captured());
    stream_->synchronize();
  }
  EXPECT_EQ(relative_error(tensor.values(), numbers()), 0.0);
}

TEST_F(NcclTest, GradientMemoryIsMemoryOfTheGpu) {
  for (const bool registered : {false, true}) {
    const auto ranks = make({.register_memory = registered});
    const Buffer memory(*ranks.gradient_memory, ByteCount(3 << 20));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0u);
    stream_->zero(memory.data(), memory.bytes());
    const auto tensor = memory.view(ByteCount(0), DType::F32, {(3 << 20) / 4});
    ranks.communicator->all_reduce_sum(tensor, *stream_);
    EXPECT_NO_THROW(stream_->synchronize());
  }
}

TEST_F(NcclTest, IsAbortedWhenAnErrorIsOnItsWayOut) {
  const auto fail = [&] {
    const auto ranks = make();
    throw Error("test", "work", "boom");
  };
  EXPECT_THROW(fail(), Error);
  EXPECT_NO_THROW(make()) << "the next communicator starts";
}

}  // namespace
}  // namespace tandem
