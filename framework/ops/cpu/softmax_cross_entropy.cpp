// Softmax cross-entropy on the CPU, one row of logits at a time.
#include <algorithm>
#include <cmath>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

class CpuSoftmaxCrossEntropy final : public SoftmaxCrossEntropy {
 public:
  explicit CpuSoftmaxCrossEntropy(const SoftmaxCrossEntropySpec& spec) : spec_(spec) {}

  ByteCount workspace_bytes() const override { return ByteCount(0); }

  void train(Stream& stream, TensorView logits, TensorView targets, StepPointers step,
             TensorView /*workspace*/) override {
    check(logits, targets);
    TANDEM_EXPECT(step.inputs != nullptr && step.training != nullptr && step.results != nullptr,
                  "softmax_cross_entropy: train reads inputs and training and writes results: one is null");
    as_cpu(stream).enqueue([=, this] {
      for (std::int64_t row = 0; row < spec_.rows; ++row) {
        ArrayMap gradient(logits.data<float>() + row * spec_.stride, spec_.stride);
        const std::int32_t target = target_of(targets, row);
        if (target == kIgnoredTarget) {
          gradient.setZero();
          continue;
        }
        const float scale = step.training->loss_scale / step.inputs->valid_targets;
        replace_by_gradient(gradient, target, measure_row(logits, row, target, *step.results), scale);
      }
    });
  }

  void evaluate(Stream& stream, TensorView logits, TensorView targets, StepPointers step,
                TensorView /*workspace*/) override {
    check(logits, targets);
    TANDEM_EXPECT(step.results != nullptr, "softmax_cross_entropy: evaluate writes results: it is null");
    as_cpu(stream).enqueue([=, this] {
      for (std::int64_t row = 0; row < spec_.rows; ++row) {
        const std::int32_t target = target_of(targets, row);
        if (target != kIgnoredTarget) measure_row(logits, row, target, *step.results);
      }
    });
  }

 private:
  // What a row's softmax is made of: p = exp(logit - largest) / sum.
  struct RowSoftmax {
    float largest;
    float sum;
  };

  void check(const TensorView& logits, const TensorView& targets) const {
    expect_tensor("softmax_cross_entropy logits", logits, DType::F32, {spec_.rows, spec_.stride});
    expect_tensor("softmax_cross_entropy targets", targets, DType::I32, {spec_.rows});
  }

  std::int32_t target_of(const TensorView& targets, std::int64_t row) const {
    const std::int32_t target = targets.data<std::int32_t>()[row];
    TANDEM_EXPECT(target == kIgnoredTarget || (target >= 0 && target < spec_.classes),
                  "target {} of row {} is outside [0, {})", target, row, spec_.classes);
    return target;
  }

  // Adds one valid row to the results. Logits enter as differences to the largest one, so that neither the
  // exponentials nor, with smoothing, the sum of logits lose digits where all logits are large.
  RowSoftmax measure_row(const TensorView& logits, std::int64_t row, std::int32_t target,
                         StepResults& results) const {
    const float* first = logits.data<float>() + row * spec_.stride;
    const Eigen::Map<const Eigen::ArrayXf> classes(first, spec_.classes);
    const float largest = classes.maxCoeff();
    const float sum = (classes - largest).exp().sum();
    const auto smoothing = static_cast<double>(spec_.label_smoothing);
    double expected_logit = (1.0 - smoothing) * static_cast<double>(first[target] - largest);
    if (smoothing > 0.0) expected_logit += smoothing * (classes - largest).cast<double>().mean();
    results.loss_sum += std::log(static_cast<double>(sum)) - expected_logit;
    results.valid_targets += 1;
    const bool is_first_largest =
        first[target] == largest && std::find(first, first + target, largest) == first + target;
    results.correct += is_first_largest ? 1 : 0;
    return {largest, sum};
  }

  // d loss / d logit = p - ((1 - s) [target] + s / classes)
  void replace_by_gradient(ArrayMap& logits, std::int32_t target, RowSoftmax softmax, float scale) const {
    auto classes = logits.head(spec_.classes);
    const float everywhere = spec_.label_smoothing / static_cast<float>(spec_.classes);
    classes = ((classes - softmax.largest).exp() * (1.0f / softmax.sum) - everywhere) * scale;
    classes[target] -= (1.0f - spec_.label_smoothing) * scale;
    logits.tail(spec_.stride - spec_.classes).setZero();
  }

  SoftmaxCrossEntropySpec spec_;
};

}  // namespace

std::unique_ptr<SoftmaxCrossEntropy> make_cpu_softmax_cross_entropy(const SoftmaxCrossEntropySpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("softmax_cross_entropy", spec.dtype);
  return std::make_unique<CpuSoftmaxCrossEntropy>(spec);
}

}  // namespace tandem
