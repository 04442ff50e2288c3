#include <vector>

#include "comm/cuda/staged_communicator.h"
#include "device/cuda/cuda_replay.h"
#include "gpu_test.h"
#include "support/rank_test.h"

namespace tandem {
namespace {

// All ranks of this job share GPU 0.
class StagedTest : public GpuTest, public ::testing::WithParamInterface<CommBackend> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    comm_ = make_mpi_comm(rank_test_session(), rank_test_options());
    communicator_ = make_staged_communicator(*device_, *comm_, GetParam());
  }
  void TearDown() override {
    if (stream_) stream_->synchronize();
  }
  int rank() const { return communicator_->rank().value; }
  int ranks() const { return communicator_->world_size(); }

  // Small integers, whose sums are exact in every dtype.
  static float value(int rank, std::int64_t i) { return static_cast<float>((i * 7 + rank * 13) % 31 - 15); }
  float sum(std::int64_t i) const {
    float total = 0.0f;
    for (int r = 0; r < ranks(); ++r) total += value(r, i);
    return total;
  }
  GpuTensor mine(std::int64_t count, DType dtype) const {
    HostTensor values({count});
    for (std::int64_t i = 0; i < count; ++i) values[i] = value(rank(), i);
    return {*device_, *stream_, values, dtype};
  }

  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Communicator> communicator_;
};

void expect_values(const HostTensor& found, std::int64_t begin, std::int64_t end, const auto& expected) {
  for (std::int64_t i = begin; i < end; ++i) ASSERT_EQ(found[i], expected(i)) << "element " << i;
}

// The last is more than the staging memory holds.
TEST_P(StagedTest, AllReduceSumsExactly) {
  for (const auto dtype : {DType::F32, DType::BF16, DType::F16}) {
    for (const std::int64_t count : {1, 3, 1001, (5 << 20) + 3}) {
      const auto tensor = mine(count, dtype);
      communicator_->all_reduce_sum(tensor.view(), *stream_);
      expect_values(tensor.values(), 0, count, [&](std::int64_t i) { return sum(i); });
    }
  }
}

TEST_P(StagedTest, ReduceScatterLeavesEachRankItsPiece) {
  for (const std::int64_t piece : {1, 1001, 3 << 20}) {
    const auto tensor = mine(piece * ranks(), DType::F32);
    communicator_->reduce_scatter_sum(tensor.view(), *stream_);
    expect_values(tensor.values(), piece * rank(), piece * (rank() + 1),
                  [&](std::int64_t i) { return sum(i); });
  }
}

TEST_P(StagedTest, AllGatherCollectsEveryPiece) {
  for (const std::int64_t piece : {1, 1001, 3 << 20}) {
    const auto tensor = mine(piece * ranks(), DType::BF16);
    communicator_->all_gather(tensor.view(), *stream_);
    expect_values(tensor.values(), 0, piece * ranks(),
                  [&](std::int64_t i) { return value(static_cast<int>(i / piece), i); });
  }
}

TEST_P(StagedTest, BroadcastComesFromAnyRoot) {
  for (int root = 0; root < ranks(); ++root) {
    const auto tensor = mine(1001, DType::F32);
    communicator_->broadcast(tensor.view(), Rank{root}, *stream_);
    expect_values(tensor.values(), 0, 1001, [&](std::int64_t i) { return value(root, i); });
  }
}

TEST_P(StagedTest, TwoStreamsShareTheStagingMemory) {
  const auto other = device_->make_stream(StreamRole::Communication);
  const auto first = mine(100003, DType::F32);
  const auto second = mine(200003, DType::F32);
  stream_->synchronize();
  communicator_->all_reduce_sum(first.view(), *other);
  communicator_->all_reduce_sum(second.view(), *stream_);
  other->synchronize();
  expect_values(first.values(), 0, 100003, [&](std::int64_t i) { return sum(i); });
  expect_values(second.values(), 0, 200003, [&](std::int64_t i) { return sum(i); });
}

TEST_P(StagedTest, RefusesACapture) {
  const auto tensor = mine(10, DType::F32);
  CudaReplay replay(as_cuda(*stream_));
  const auto step = [&] { communicator_->all_reduce_sum(tensor.view(), *stream_); };
  for (int run = 0; run < CudaReplay::kEagerRuns; ++run) replay.run(step);
  EXPECT_THROW(replay.run(step), Error);
}

INSTANTIATE_TEST_SUITE_P(Backends, StagedTest, ::testing::Values(CommBackend::Mpi, CommBackend::Ring),
                         [](const auto& instance) {
                           return instance.param == CommBackend::Mpi ? "Mpi" : "Ring";
                         });

}  // namespace
}  // namespace tandem
