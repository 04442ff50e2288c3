#include "comm/cuda/stream_word.h"

#include <atomic>

#include "device/cuda/cuda_replay.h"
#include "gpu_test.h"
#include "ops/cuda/tuning_kernels.h"

namespace tandem {
namespace {

class StreamWordTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    words_ = Buffer(device_->pinned_memory(), ByteCount(2 * sizeof(std::uint32_t)));
    word(0) = word(1) = 0;
  }
  std::uint32_t& word(int index) const { return static_cast<std::uint32_t*>(words_.data())[index]; }
  std::uint32_t seen(int index) const { return std::atomic_ref(word(index)).load(); }

  Buffer words_;
};

TEST_F(StreamWordTest, IsWrittenWhenTheStreamGetsThere) {
  const auto raw = as_cuda(*stream_).raw();
  TANDEM_CUDA(launch_spin(200000, raw));
  write_word(raw, &word(0), 7);
  write_word(raw, &word(1), 8);
  EXPECT_EQ(seen(0), 0u) << "written before the kernel in front of it had ended";
  stream_->synchronize();
  EXPECT_EQ(seen(0), 7u);
  EXPECT_EQ(seen(1), 8u);
}

TEST_F(StreamWordTest, IsANodeOfAGraph) {
  CudaReplay replay(as_cuda(*stream_));
  const auto step = [&] { write_word(as_cuda(*stream_).raw(), &word(0), 5); };
  for (int run = 0; run <= CudaReplay::kEagerRuns + 1; ++run) {
    std::atomic_ref(word(0)).store(0);
    replay.run(step);
    stream_->synchronize();
    EXPECT_EQ(seen(0), 5u) << "run " << run;
  }
  EXPECT_TRUE(replay.captured());
}

}  // namespace
}  // namespace tandem
