#include <cstring>
#include <stdexcept>
#include <vector>

#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_replay.h"
#include "device/cuda/cuda_stream.h"
#include "gpu_test.h"
#include "ops/cuda/linear_kernels.h"
#include "ops/cuda/tuning_kernels.h"

namespace tandem {
namespace {

class CudaDeviceTest : public GpuTest {
 protected:
  static void spin(Stream& stream, std::int64_t microseconds) {
    TANDEM_CUDA(launch_spin(microseconds, as_cuda(stream).raw()));
  }
  // y += x, the smallest step that shows how often it ran.
  static void add(Stream& stream, const GpuTensor& x, const GpuTensor& y) {
    TANDEM_CUDA(launch_store_gradient({x.view().raw(), DType::F32}, {y.view().raw(), DType::F32, true},
                                      x.view().elements().value(), as_cuda(stream).raw()));
  }
  GpuTensor tensor(std::initializer_list<float> values) {
    const auto host = HostTensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
    return {*device_, *stream_, host, DType::F32};
  }
};

TEST(CudaDevice, AnOrdinalThatIsNotThereThrows) {
  EXPECT_THROW((void)CudaDevice({.ordinal = 1000}), Error);
  EXPECT_THROW((void)CudaDevice({.ordinal = -1}), Error);
}

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->kind(), DeviceKind::Cuda);
  EXPECT_FALSE(device_->name().empty());
  EXPECT_GT(device_->multiprocessors(), 0);
  const auto memory = device_->memory_info();
  EXPECT_GT(memory.free.value(), 0);
  EXPECT_GE(memory.total, memory.free);
}

TEST_F(CudaDeviceTest, MemoryIsAlignedAndCounted) {
  const auto before = device_->allocations();
  const Buffer small(device_->memory(), ByteCount(1));
  const Buffer other(device_->memory(), ByteCount(12345));
  const Buffer pinned(device_->pinned_memory(), ByteCount(77));
  for (const auto* buffer : {&small, &other, &pinned}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 4096, 0u);
  }
  EXPECT_EQ(device_->allocations(), before + 3);
}

TEST_F(CudaDeviceTest, TooMuchMemoryNamesWhatIsFree) {
  try {
    const Buffer buffer(device_->memory(), ByteCount(1ll << 50));
    FAIL() << "a petabyte was allocated";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("bytes free"), std::string::npos) << error.message();
  }
  EXPECT_NO_THROW(Buffer(device_->memory(), ByteCount(1 << 20)));  // the failure left nothing behind
}

TEST_F(CudaDeviceTest, AStreamWaitsForAnEventOfAnother) {
  const auto other = device_->make_stream(StreamRole::Copy);
  const auto event = device_->make_event(EventUse::Ordering);
  const auto x = tensor({1, 2, 3}), y = tensor({0, 0, 0});
  Buffer seen(device_->pinned_memory(), ByteCount(12));
  std::memset(seen.data(), 0xff, 12);
  spin(*stream_, 20000);  // the copy below would overtake the addition if it did not wait
  add(*stream_, x, y);
  stream_->record(*event);
  other->wait(*event);
  other->copy(seen.data(), y.view().raw(), ByteCount(12));
  other->synchronize();
  EXPECT_TRUE(event->complete());
  const auto* values = static_cast<const float*>(seen.data());
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[2], 3.0f);
}

TEST_F(CudaDeviceTest, AnEventThatWasNeverRecordedIsComplete) {
  for (const auto use : {EventUse::Ordering, EventUse::Timing}) {
    EXPECT_TRUE(device_->make_event(use)->complete());
  }
}

TEST_F(CudaDeviceTest, TimingEventsSpanTheWorkBetweenThem) {
  const auto begin = device_->make_event(EventUse::Timing);
  const auto end = device_->make_event(EventUse::Timing);
  stream_->record(*begin);
  spin(*stream_, 2000);
  stream_->record(*end);
  end->synchronize();
  EXPECT_GE(device_->elapsed_ms(*begin, *end), 1.9);  // the spin cannot end before
  const auto ordering = device_->make_event(EventUse::Ordering);
  EXPECT_THROW((void)device_->elapsed_ms(*begin, *ordering), Error);
}

TEST_F(CudaDeviceTest, CommunicationIsMoreUrgentThanCompute) {
  const auto communication = device_->make_stream(StreamRole::Communication);
  EXPECT_LT(as_cuda(*communication).priority(), as_cuda(*stream_).priority());
}

TEST_F(CudaDeviceTest, AGraphKeepsThePrioritiesOfItsStreams) {
  const auto communication = device_->make_stream(StreamRole::Communication);
  const auto fork = device_->make_event(EventUse::Ordering);
  const auto join = device_->make_event(EventUse::Ordering);
  CudaReplay replay(as_cuda(*stream_));
  for (int run = 0; run < 4; ++run) {
    replay.run([&] {
      spin(*stream_, 1);
      stream_->record(*fork);
      communication->wait(*fork);
      spin(*communication, 1);
      communication->record(*join);
      stream_->wait(*join);
    });
  }
  stream_->synchronize();
  std::size_t count = 0;
  TANDEM_CUDA(cudaGraphGetNodes(replay.graph(), nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  TANDEM_CUDA(cudaGraphGetNodes(replay.graph(), nodes.data(), &count));
  std::vector<int> priorities;
  for (const auto node : nodes) {
    auto type = cudaGraphNodeTypeEmpty;
    TANDEM_CUDA(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaLaunchAttributeValue value{};
    TANDEM_CUDA(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
    priorities.push_back(value.priority);
  }
  std::ranges::sort(priorities);
  EXPECT_EQ(priorities, (std::vector{as_cuda(*communication).priority(), as_cuda(*stream_).priority()}));
}

TEST_F(CudaDeviceTest, AReplayDoesWhatEnqueueingDoes) {
  const auto x = tensor({1, 2, 3, 4, 5}), y = tensor({0, 0, 0, 0, 0});
  CudaReplay replay(as_cuda(*stream_));
  int enqueued = 0;
  const auto step = [&] {
    ++enqueued;
    add(*stream_, x, y);
  };
  for (int run = 0; run < CudaReplay::kEagerRuns; ++run) replay.run(step);
  EXPECT_FALSE(replay.captured());
  for (int run = 0; run < 5; ++run) replay.run(step);
  EXPECT_TRUE(replay.captured());
  EXPECT_EQ(enqueued, CudaReplay::kEagerRuns + 1);
  const auto values = y.values();
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(values[i], 7.0f * static_cast<float>(i + 1));
}

TEST_F(CudaDeviceTest, WithoutGraphsEveryRunIsEnqueued) {
  CudaDevice device({.graphs = false});
  const auto stream = device.make_stream(StreamRole::Compute);
  const auto replay = device.make_replay(*stream);
  int enqueued = 0;
  for (int run = 0; run < 5; ++run) replay->run([&] { ++enqueued; });
  EXPECT_EQ(enqueued, 5);
}

TEST_F(CudaDeviceTest, AReplayAllocatesNothing) {
  const auto x = tensor({1, 2}), y = tensor({0, 0});
  const auto replay = device_->make_replay(*stream_);
  const auto before = device_->allocations();
  for (int run = 0; run < 6; ++run) replay->run([&] { add(*stream_, x, y); });
  stream_->synchronize();
  EXPECT_EQ(device_->allocations(), before);
}

TEST_F(CudaDeviceTest, TimingEventsStampInsideAGraph) {
  const auto begin = device_->make_event(EventUse::Timing);
  const auto end = device_->make_event(EventUse::Timing);
  const auto fence = device_->make_event(EventUse::Ordering);
  const auto replay = device_->make_replay(*stream_);
  for (int run = 0; run < 5; ++run) {
    replay->run([&] {
      stream_->record(*begin);
      spin(*stream_, 1000);
      stream_->record(*end);
    });
    stream_->record(*fence);
    fence->synchronize();
    EXPECT_GE(device_->elapsed_ms(*begin, *end), 0.9) << "run " << run;
  }
}

TEST_F(CudaDeviceTest, ATimingEventOrdersStreamsInsideAGraphToo) {
  const auto other = device_->make_stream(StreamRole::Communication);
  const auto fork = device_->make_event(EventUse::Timing);
  const auto join = device_->make_event(EventUse::Timing);
  const auto x = tensor({1}), y = tensor({0});
  const auto replay = device_->make_replay(*stream_);
  for (int run = 0; run < 5; ++run) {
    replay->run([&] {
      stream_->record(*fork);
      other->wait(*fork);
      add(*other, x, y);
      other->record(*join);
      stream_->wait(*join);
      add(*stream_, y, y);  // y = 2 (y + 1)
    });
  }
  EXPECT_EQ(y.values()[0], 62.0f);
}

TEST_F(CudaDeviceTest, AStepThatThrowsWhileCapturedLeavesTheStreamUsable) {
  const auto x = tensor({1}), y = tensor({0});
  const auto replay = device_->make_replay(*stream_);
  for (int run = 0; run < CudaReplay::kEagerRuns; ++run) replay->run([&] { add(*stream_, x, y); });
  EXPECT_THROW(replay->run([&] {
    add(*stream_, x, y);
    throw std::runtime_error("on purpose");
  }),
               std::runtime_error);
  replay->run([&] { add(*stream_, x, y); });
  EXPECT_EQ(y.values()[0], 3.0f);
  EXPECT_NO_THROW(stream_->throw_if_failed());
}

TEST_F(CudaDeviceTest, ColumnSumsAreTheSameBitsEveryTime) {
  const auto host = HostTensor::random({1031, 72}, 5);
  const GpuTensor matrix(*device_, *stream_, host, DType::F32);
  const GpuTensor partial(*device_, *stream_, Shape{column_sum_floats(1031, 72)}, DType::F32);
  const auto sums = [&] {
    const GpuTensor sum(*device_, *stream_, Shape{72}, DType::F32);
    TANDEM_CUDA(launch_column_sum({.matrix = {matrix.view().raw(), DType::F32},
                                   .rows = 1031,
                                   .columns = 72,
                                   .to = {sum.view().raw(), DType::F32, false},
                                   .partial_sums = partial.view().data<float>()},
                                  as_cuda(*stream_).raw()));
    return sum.values();
  };
  expect_same("sums", sums(), sums());
}

}  // namespace
}  // namespace tandem
