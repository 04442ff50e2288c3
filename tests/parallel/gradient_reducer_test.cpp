#include "parallel/gradient_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_stream.h"

namespace tandem {
namespace {

// Stands for two ranks with equal gradients: the sum is twice the own. Notes what it was asked, in order.
class DoublingCommunicator final : public Communicator {
 public:
  Rank rank() const override { return {}; }
  int world_size() const override { return 2; }
  void all_reduce_sum(TensorView inout, Stream& stream) override {
    calls.push_back(inout.data<float>());
    as_cpu(stream).enqueue([inout] {
      auto* values = inout.data<float>();
      for (std::int64_t i = 0; i < inout.elements().value(); ++i) values[i] *= 2.0f;
    });
  }
  void reduce_scatter_sum(TensorView, Stream&) override { FAIL(); }
  void all_gather(TensorView, Stream&) override { FAIL(); }
  void broadcast(TensorView, Rank, Stream&) override { FAIL(); }
  void throw_if_failed() override {}
  std::string description() const override { return "doubling"; }

  std::vector<const float*> calls;
};

class GradientReducerTest : public ::testing::Test {
 protected:
  static constexpr int kParameters = 7;

  static ParameterLayout layout() {
    std::vector<ParameterSpec> specs;
    std::vector<ParamId> order;
    for (int i = 0; i < kParameters; ++i) {
      specs.push_back({.name = fmt::format("p{}", i), .canonical = {3 + i}, .stored = {3 + i}});
      order.push_back({i});
    }
    const std::vector<std::size_t> starts{0, 1, 3, 6};
    return {specs, order, starts};
  }

  void write_gradient(int parameter) {
    const auto view = store_.gradient({parameter});
    compute_.enqueue(
        [=] { std::fill_n(view.data<float>(), view.elements().value(), static_cast<float>(parameter + 1)); });
  }

  // One step with gradients becoming ready in `order`; compute sees every bucket's sum afterwards.
  void run_step(GradientReducer& reducer, const std::vector<int>& order) {
    reducer.begin_step(nullptr);
    for (const auto parameter : order) {
      write_gradient(parameter);
      reducer.ready({parameter});
    }
    reducer.end_backward();
    for (std::size_t bucket = 0; bucket < reducer.buckets(); ++bucket) reducer.wait_for(bucket);
    compute_.synchronize();
  }

  CpuDevice device_;
  CpuStream compute_, communication_;
  ParameterStore store_{device_, layout(), {}, {}};
  DoublingCommunicator communicator_;
};

TEST_F(GradientReducerTest, SendsInPlanOrderWhateverTheReadyOrder) {
  std::vector<const float*> expected;
  for (const auto& bucket : store_.layout().buckets())
    expected.push_back(store_.gradients(bucket).data<float>());
  std::vector<int> order(kParameters);
  for (int i = 0; i < kParameters; ++i) order[static_cast<std::size_t>(i)] = i;
  std::mt19937 random(1);
  for (const auto schedule : {Schedule::Overlapped, Schedule::After}) {
    GradientReducer reducer(device_, store_, communicator_, {compute_, communication_}, schedule);
    for (int trial = 0; trial < 200; ++trial) {
      communicator_.calls.clear();
      std::ranges::shuffle(order, random);
      run_step(reducer, order);
      ASSERT_EQ(communicator_.calls, expected);
      for (int p = 0; p < kParameters; ++p) {
        const auto view = store_.gradient({p});
        for (std::int64_t i = 0; i < view.elements().value(); ++i) {
          ASSERT_EQ(view.data<float>()[i], 2.0f * static_cast<float>(p + 1));
        }
      }
    }
  }
}

TEST_F(GradientReducerTest, OverlappedSendsABucketAsSoonAsItIsComplete) {
  GradientReducer reducer(device_, store_, communicator_, {compute_, communication_}, Schedule::Overlapped);
  reducer.begin_step(nullptr);
  reducer.ready({0});
  EXPECT_EQ(communicator_.calls.size(), 1u);
  reducer.ready({2});
  EXPECT_EQ(communicator_.calls.size(), 1u);  // bucket 1 still misses p1
  reducer.ready({3});
  reducer.ready({4});
  reducer.ready({5});
  EXPECT_EQ(communicator_.calls.size(), 1u);  // bucket 2 is complete but must not overtake bucket 1
  reducer.ready({1});
  EXPECT_EQ(communicator_.calls.size(), 3u);
  reducer.ready({6});
  reducer.end_backward();
  EXPECT_EQ(communicator_.calls.size(), 4u);
  communication_.synchronize();
}

TEST_F(GradientReducerTest, AfterSendsNothingBeforeBackwardEnds) {
  GradientReducer reducer(device_, store_, communicator_, {compute_, communication_}, Schedule::After);
  reducer.begin_step(nullptr);
  for (int p = 0; p < kParameters; ++p) reducer.ready({p});
  EXPECT_TRUE(communicator_.calls.empty());
  reducer.end_backward();
  EXPECT_EQ(communicator_.calls.size(), 4u);
  communication_.synchronize();
}

TEST_F(GradientReducerTest, NamesParametersThatNeverBecameReady) {
  GradientReducer reducer(device_, store_, communicator_, {compute_, communication_}, Schedule::Overlapped);
  reducer.begin_step(nullptr);
  for (int p = 0; p < kParameters; ++p) {
    if (p != 2 && p != 5) reducer.ready({p});
  }
  try {
    reducer.end_backward();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), ::testing::HasSubstr("\n  p2\n  p5"));
  }
  communication_.synchronize();
}

TEST_F(GradientReducerTest, NamesAParameterThatIsReadyTwice) {
  GradientReducer reducer(device_, store_, communicator_, {compute_, communication_}, Schedule::After);
  reducer.begin_step(nullptr);
  reducer.ready({3});
  try {
    reducer.ready({3});
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), ::testing::HasSubstr("p3 became ready twice"));
  }
}

class CountingObserver final : public BucketObserver {
 public:
  void bucket_ready(std::size_t bucket, Stream&) override { ready.push_back(bucket); }
  void before_all_reduce(std::size_t bucket, Stream&) override { before.push_back(bucket); }
  void after_all_reduce(std::size_t bucket, Stream&) override { after.push_back(bucket); }
  std::vector<std::size_t> ready, before, after;
};

TEST_F(GradientReducerTest, TellsTheObserverOfEveryBucket) {
  GradientReducer reducer(device_, store_, communicator_, {compute_, communication_}, Schedule::Overlapped);
  CountingObserver observer;
  reducer.begin_step(&observer);
  for (int p = 0; p < kParameters; ++p) reducer.ready({p});
  reducer.end_backward();
  communication_.synchronize();
  EXPECT_EQ(observer.ready, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(observer.before, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(observer.after, observer.before);
}

}  // namespace
}  // namespace tandem
