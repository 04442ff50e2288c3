#include "core/targets.h"
#include "gpu_op_test.h"

namespace tandem {
namespace {

// Classes that fill, cut or leave out packs; strides that are no whole packs; rows in one warp and in many;
// a row beyond a block's shared memory in fp32 (and, twice as wide, in 16 bits).
const SoftmaxCrossEntropySpec kSpecs[] = {
    {.rows = 70, .classes = 1000, .stride = 1000},  {.rows = 33, .classes = 10, .stride = 16},
    {.rows = 9, .classes = 7, .stride = 7},         {.rows = 300, .classes = 257, .stride = 320},
    {.rows = 5, .classes = 50257, .stride = 50304}, {.rows = 4, .classes = 130001, .stride = 130008},
    {.rows = 1, .classes = 1, .stride = 1},         {.rows = 6, .classes = 2049, .stride = 2051}};

class CudaCrossEntropyTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    logits_host_ = rounded(HostTensor::random({spec_.rows, spec_.stride}, 1, -6.0f, 9.0f), dtype_);
    targets_host_ = HostTensor({spec_.rows}, DType::I32);
    auto targets = targets_host_.values<std::int32_t>();
    for (std::int64_t row = 0; row < spec_.rows; ++row) {
      const auto target = static_cast<std::int32_t>((row * 37 + 5) % spec_.classes);
      targets[row] = row % 5 == 3 ? kIgnoredTarget : target;
      float* logits = logits_host_.values().data() + row * spec_.stride;
      if (row % 3 == 0) logits[target] = 10.0f;                               // a hit
      if (row % 6 == 0) logits[(target + 1) % spec_.classes] = 10.0f;         // a tie with the next class
      for (auto c = spec_.classes; c < spec_.stride; ++c) logits[c] = 50.0f;  // padding counts nowhere
    }
  }

  void check(float smoothing) {
    spec_.label_smoothing = smoothing;
    spec_.dtype = DType::F32;
    const auto reference = make_cpu_softmax_cross_entropy(spec_);
    spec_.dtype = dtype_;
    const auto op = make_cuda_softmax_cross_entropy(*context_, spec_);
    StepInputs inputs;
    inputs.valid_targets = 3.0f;
    TrainingState training;
    training.loss_scale = 2.0f;
    StepResults results;
    results.loss_sum = 1.5;
    results.correct = 2;
    const auto gpu_inputs = values_on_gpu<StepInputs>({inputs});
    const auto gpu_training = values_on_gpu<TrainingState>({training});
    const auto gpu_results = values_on_gpu<StepResults>({results});
    const StepPointers step{gpu_inputs.data(), gpu_training.data(), gpu_results.data()};
    const auto logits = on_gpu(logits_host_, dtype_), workspace = memory(op->workspace_bytes());
    const auto list = targets_host_.values<std::int32_t>();
    const GpuValues<std::int32_t> targets(*device_, *stream_, list);

    const auto gradient = logits_host_.copy();
    const StepPointers cpu_step{&inputs, &training, &results};
    reference->evaluate(cpu_, gradient.view(), targets_host_.view(), cpu_step, {});
    reference->train(cpu_, gradient.view(), targets_host_.view(), cpu_step, {});
    cpu_.synchronize();
    op->evaluate(*stream_, logits.view(), targets.view({spec_.rows}), step, workspace.view());
    expect_same("logits after evaluation", logits.values(), logits_host_);
    op->train(*stream_, logits.view(), targets.view({spec_.rows}), step, workspace.view());
    const auto actual = gpu_results.values()[0];
    EXPECT_NEAR(actual.loss_sum, results.loss_sum, 1e-5 * std::abs(results.loss_sum));
    EXPECT_EQ(actual.correct, results.correct);
    EXPECT_EQ(actual.valid_targets, results.valid_targets);
    // The gradient of the one class there is, is zero but for rounding.
    if (spec_.classes > 1) expect_near("gradient", logits, gradient, own_tolerance(dtype_));
  }

  DType dtype_ = DType::F32;
  SoftmaxCrossEntropySpec spec_;
  HostTensor logits_host_, targets_host_;
};

TEST_P(CudaCrossEntropyTest, AsTheCpu) {
  check(0.0f);
}
TEST_P(CudaCrossEntropyTest, WithSmoothingAsTheCpu) {
  check(0.1f);
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaCrossEntropyTest, all_of(kSpecs), name_of_case);

class CudaCrossEntropyDeathTest : public GpuOpTest {
 protected:
  // Ends the process with 1 if the GPU reported the failure.
  static void train_on_a_bad_target() {
    const auto op = make_cuda_softmax_cross_entropy(*context_, {.rows = 1, .classes = 8, .stride = 8});
    const GpuTensor logits(*device_, *stream_, HostTensor({1, 8}), DType::F32);
    const GpuTensor workspace(*device_, *stream_, Shape{op->workspace_bytes().value()}, DType::U8);
    const std::vector<std::int32_t> list{8};
    const std::vector<StepResults> none(1);
    const GpuValues<std::int32_t> targets(*device_, *stream_, list);
    const GpuValues<StepResults> results(*device_, *stream_, none);
    op->evaluate(*stream_, logits.view(), targets.view({1}), {nullptr, nullptr, results.data()},
                 workspace.view());
    try {
      stream_->synchronize();
    } catch (const Error&) {
      std::fflush(stdout);
      std::_Exit(1);
    }
    std::_Exit(0);
  }
};

TEST_F(CudaCrossEntropyDeathTest, ATargetOutsideTheClassesEndsTheJob) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(train_on_a_bad_target(), ::testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace tandem
