#include "gpu_op_test.h"

namespace tandem {
namespace {

// Whole packs and odd channels, several slices of channels, slices that a row does not fill, fewer rows than
// a block covers, tiles that end in the middle.
const BatchNormSpec kSpecs[] = {{.rows = 3000, .C = 64},  {.rows = 77, .C = 256}, {.rows = 7, .C = 8},
                                {.rows = 50, .C = 3},     {.rows = 501, .C = 1},  {.rows = 129, .C = 2048},
                                {.rows = 1029, .C = 320}, {.rows = 333, .C = 33}, {.rows = 40000, .C = 16},
                                {.rows = 20001, .C = 128}};

const NormTail kTails[] = {NormTail::None, NormTail::Relu, NormTail::AddRelu};
const NormStatistics kStatistics[] = {NormStatistics::Batch, NormStatistics::Running,
                                      NormStatistics::Identity};

std::string describe(const BatchNormSpec& spec, bool two) {
  return fmt::format("statistics {}, tail {}, {} addends: ", static_cast<int>(spec.statistics),
                     static_cast<int>(spec.tail), two ? 2 : 1);
}

class CudaBatchNormTest : public GpuOpTest, public ::testing::WithParamInterface<SpecAndDType> {
 protected:
  // Parameters and buffers, fp32 on both sides.
  struct Parameters {
    HostTensor scale, bias, mean, variance;
    BatchNormParameters views() const { return {scale.view(), bias.view(), mean.view(), variance.view()}; }
  };

  void SetUp() override {
    GpuOpTest::SetUp();
    if (IsSkipped()) return;
    dtype_ = std::get<DType>(GetParam());
    spec_ = kSpecs[std::get<int>(GetParam())];
    shape_ = Shape{spec_.rows, spec_.C};
    x_ = rounded(HostTensor::random(shape_, 1, -1.0f, 3.0f), dtype_);
    residual_ = rounded(HostTensor::random(shape_, 2), dtype_);
    dy_ = rounded(HostTensor::random(shape_, 3), dtype_);
    dy_second_ = rounded(HostTensor::random(shape_, 4), dtype_);
    parameters_ = {HostTensor::random({spec_.C}, 5, 0.5f, 1.5f), HostTensor::random({spec_.C}, 6),
                   HostTensor::random({spec_.C}, 7), HostTensor::random({spec_.C}, 8, 0.5f, 2.0f)};
  }

  void make(NormStatistics statistics, NormTail tail) {
    spec_.statistics = statistics;
    spec_.tail = tail;
    spec_.dtype = DType::F32;
    reference_ = make_cpu_batch_norm(spec_);
    spec_.dtype = dtype_;
    op_ = make_cuda_batch_norm(*context_, spec_);
  }
  bool adds() const { return spec_.tail == NormTail::AddRelu; }
  double bound() const { return own_tolerance(dtype_); }
  // At least `strict`, and more for what ReLU gates: among many elements a few lie so close to zero that
  // rounding decides, and each counts as a whole element.
  double gated_bound(double strict) const {
    const auto elements = static_cast<double>(spec_.rows * spec_.C);
    const bool many = spec_.tail != NormTail::None && elements > 1e5;
    return std::max(strict, many ? 3.0 / std::sqrt(elements) : 0.0);
  }

  void check_training(bool two);
  void check_once_more(const std::string& what, const BatchNormParameters& parameters,
                       BatchNorm::Backward backward, const HostTensor& d_scale_before,
                       const HostTensor& dx_before);
  void check_evaluation();

  DType dtype_ = DType::F32;
  BatchNormSpec spec_;
  Shape shape_;
  HostTensor x_, residual_, dy_, dy_second_;
  Parameters parameters_;
  std::unique_ptr<BatchNorm> reference_, op_;
};

void CudaBatchNormTest::check_training(bool two) {
  const std::string what = describe(spec_, two);
  const Parameters of_cpu{parameters_.scale.copy(), parameters_.bias.copy(), parameters_.mean.copy(),
                          parameters_.variance.copy()};
  const auto y_expected = HostTensor::unwritten(shape_), dx_expected = HostTensor::unwritten(shape_);
  const auto d_residual_expected = HostTensor::unwritten(shape_);
  const auto d_scale_expected = HostTensor::random({spec_.C}, 10),
             d_bias_expected = HostTensor::random({spec_.C}, 11);
  const auto d_scale_before = d_scale_expected.copy(), d_bias_before = d_bias_expected.copy();
  const auto saved_expected = HostTensor::opaque(reference_->saved_bytes());
  const auto mode = two ? GradMode::Accumulate : GradMode::Overwrite;
  reference_->forward_train(cpu_, x_.view(), adds() ? residual_.view() : TensorView(), of_cpu.views(),
                            y_expected.view(), saved_expected.view(), {});
  reference_->backward(cpu_, of_cpu.views(),
                       {.dy = {dy_.view(), two ? dy_second_.view() : TensorView()},
                        .x = x_.view(),
                        .saved = saved_expected.view(),
                        .dx = dx_expected.view(),
                        .d_residual = adds() ? d_residual_expected.view() : TensorView(),
                        .d_scale = {d_scale_expected.view(), mode},
                        .d_bias = {d_bias_expected.view(), mode},
                        .workspace = {}});
  cpu_.synchronize();

  const auto x = on_gpu(x_, dtype_), residual = on_gpu(residual_, dtype_), dy = on_gpu(dy_, dtype_);
  const auto dy_second = on_gpu(dy_second_, dtype_), y = unwritten(shape_, dtype_);
  const auto dx = unwritten(shape_, dtype_), d_residual = unwritten(shape_, dtype_);
  const auto scale = on_gpu(parameters_.scale, DType::F32), bias = on_gpu(parameters_.bias, DType::F32);
  const auto mean = on_gpu(parameters_.mean, DType::F32), variance = on_gpu(parameters_.variance, DType::F32);
  const auto d_scale = on_gpu(d_scale_before, DType::F32), d_bias = on_gpu(d_bias_before, DType::F32);
  const auto saved = memory(op_->saved_bytes()), workspace = memory(op_->workspace_bytes());
  const BatchNormParameters parameters{scale.view(), bias.view(), mean.view(), variance.view()};
  op_->forward_train(*stream_, x.view(), adds() ? residual.view() : TensorView(), parameters, y.view(),
                     saved.view(), workspace.view());
  const BatchNorm::Backward backward{.dy = {dy.view(), two ? dy_second.view() : TensorView()},
                                     .x = x.view(),
                                     .saved = saved.view(),
                                     .dx = dx.view(),
                                     .d_residual = adds() ? d_residual.view() : TensorView(),
                                     .d_scale = {d_scale.view(), mode},
                                     .d_bias = {d_bias.view(), mode},
                                     .workspace = workspace.view()};
  op_->backward(*stream_, parameters, backward);
  expect_near(what + "y", y, y_expected, bound());
  expect_near(what + "running mean", mean, of_cpu.mean, 1e-5);
  expect_near(what + "running variance", variance, of_cpu.variance, 1e-5);
  expect_near(what + "dx", dx, dx_expected, gated_bound(bound()));
  if (adds()) expect_near(what + "d_residual", d_residual, d_residual_expected, gated_bound(bound()));
  expect_near(what + "d_scale", d_scale, d_scale_expected, gated_bound(1e-4));
  expect_near(what + "d_bias", d_bias, d_bias_expected, gated_bound(1e-4));

  if (!two) check_once_more(what, parameters, backward, d_scale.values(), dx.values());
}

// With dx in dy's memory and 16-bit gradients: the same numbers.
void CudaBatchNormTest::check_once_more(const std::string& what, const BatchNormParameters& parameters,
                                        BatchNorm::Backward backward, const HostTensor& d_scale_before,
                                        const HostTensor& dx_before) {
  const auto dy = on_gpu(dy_, dtype_);
  const auto d_scale = unwritten({spec_.C}, DType::BF16), d_bias = unwritten({spec_.C}, DType::BF16);
  backward.dy = {dy.view(), {}};
  backward.dx = dy.view();
  backward.d_scale = {d_scale.view(), GradMode::Overwrite};
  backward.d_bias = {d_bias.view(), GradMode::Overwrite};
  op_->backward(*stream_, parameters, backward);
  expect_same(what + "dx in place", dy.values(), dx_before);
  expect_same(what + "d_scale in bf16", d_scale.values(), rounded(d_scale_before, DType::BF16));
}

void CudaBatchNormTest::check_evaluation() {
  const auto y_expected = HostTensor::unwritten(shape_);
  reference_->forward_evaluate(cpu_, x_.view(), adds() ? residual_.view() : TensorView(), parameters_.views(),
                               y_expected.view());
  cpu_.synchronize();
  const auto x = on_gpu(x_, dtype_), residual = on_gpu(residual_, dtype_), y = unwritten(shape_, dtype_);
  const auto scale = on_gpu(parameters_.scale, DType::F32), bias = on_gpu(parameters_.bias, DType::F32);
  const auto mean = on_gpu(parameters_.mean, DType::F32), variance = on_gpu(parameters_.variance, DType::F32);
  op_->forward_evaluate(*stream_, x.view(), adds() ? residual.view() : TensorView(),
                        {scale.view(), bias.view(), mean.view(), variance.view()}, y.view());
  expect_near(describe(spec_, false) + "y of evaluation", y, y_expected, bound());
}

TEST_P(CudaBatchNormTest, TrainsAsTheCpu) {
  for (const auto statistics : kStatistics) {
    for (const auto tail : kTails) {
      make(statistics, tail);
      check_training(false);
      check_training(true);
    }
  }
}

TEST_P(CudaBatchNormTest, EvaluatesAsTheCpu) {
  for (const auto statistics : kStatistics) {
    for (const auto tail : kTails) {
      make(statistics, tail);
      check_evaluation();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaBatchNormTest, all_of(kSpecs), name_of_case);

class CudaBatchNormCallTest : public GpuOpTest {};

// A mean far from zero must not cost the variance its digits.
TEST_F(CudaBatchNormCallTest, StatisticsKeepTheirDigitsFarFromZero) {
  const BatchNormSpec spec{.rows = 30000, .C = 24};
  const auto op = make_cuda_batch_norm(*context_, spec);
  const auto reference = make_cpu_batch_norm(spec);
  const auto x_host = HostTensor::random({spec.rows, spec.C}, 1, 1000.0f, 1001.0f);
  const auto ones = HostTensor::random({spec.C}, 2, 1.0f, 1.0f), zeros = HostTensor({spec.C});
  const auto mean_host = zeros.copy(), variance_host = ones.copy();
  const auto expected = HostTensor::unwritten(x_host.shape());
  const auto saved_host = HostTensor::opaque(reference->saved_bytes());
  reference->forward_train(cpu_, x_host.view(), {},
                           {ones.view(), zeros.view(), mean_host.view(), variance_host.view()},
                           expected.view(), saved_host.view(), {});
  cpu_.synchronize();
  const auto x = on_gpu(x_host, DType::F32), y = unwritten(x_host.shape(), DType::F32);
  const auto scale = on_gpu(ones, DType::F32), bias = on_gpu(zeros, DType::F32);
  const auto mean = on_gpu(zeros, DType::F32), variance = on_gpu(ones, DType::F32);
  const auto saved = memory(op->saved_bytes()), workspace = memory(op->workspace_bytes());
  op->forward_train(*stream_, x.view(), {}, {scale.view(), bias.view(), mean.view(), variance.view()},
                    y.view(), saved.view(), workspace.view());
  expect_near("y", y, expected, 1e-3);
  expect_near("running variance", variance, variance_host, 1e-5);
}

TEST_F(CudaBatchNormCallTest, WrongTensorsThrowAtTheCall) {
  const auto op = make_cuda_batch_norm(*context_, {.rows = 8, .C = 16, .dtype = DType::BF16});
  const auto x = unwritten({8, 16}, DType::BF16), y = unwritten({8, 16}, DType::BF16);
  const auto fp32 = unwritten({8, 16}, DType::F32), channel = unwritten({16}, DType::F32);
  const auto saved = memory(op->saved_bytes()), workspace = memory(op->workspace_bytes());
  const BatchNormParameters parameters{channel.view(), channel.view(), channel.view(), channel.view()};
  EXPECT_NO_THROW(
      op->forward_train(*stream_, x.view(), {}, parameters, y.view(), saved.view(), workspace.view()));
  EXPECT_THROW(
      op->forward_train(*stream_, fp32.view(), {}, parameters, y.view(), saved.view(), workspace.view()),
      Error);
  EXPECT_THROW(
      op->forward_train(*stream_, x.view(), x.view(), parameters, y.view(), saved.view(), workspace.view()),
      Error);
  EXPECT_THROW(op->forward_train(*stream_, x.view(), {}, parameters, y.view(), {}, workspace.view()), Error);
  EXPECT_THROW(op->forward_train(cpu_, x.view(), {}, parameters, y.view(), saved.view(), workspace.view()),
               Error);
  EXPECT_THROW((void)make_cuda_batch_norm(*context_, {.rows = 8, .C = 16, .dtype = DType::I32}), Error);
}

}  // namespace
}  // namespace tandem
