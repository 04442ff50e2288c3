// The gradient norm on the CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

// Eight interleaved sums, added up at the end: always this order, whatever the memory's alignment, and wide
// enough for vector instructions. In double no square of an fp32 value overflows, so the sum is finite
// exactly if all gradients are.
double sum_of_squares(const float* values, std::int64_t elements) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::int64_t whole = elements / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      sums[lane] += value * value;
    }
  }
  for (std::int64_t i = whole; i < elements; ++i) {
    const auto value = static_cast<double>(values[i]);
    sums[i - whole] += value * value;
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

class CpuGradientNorm final : public GradientNorm {
 public:
  explicit CpuGradientNorm(const GradientNormSpec& spec) : spec_(spec) {}

  ByteCount workspace_bytes() const override { return ByteCount(0); }

  void measure(Stream& stream, TensorView gradients, StepPointers pointers,
               TensorView /*workspace*/) override {
    expect_tensor("gradient_norm gradients", gradients, DType::F32, {spec_.elements});
    TANDEM_EXPECT(pointers.training != nullptr, "gradient_norm: measure writes training: it is null");
    as_cpu(stream).enqueue([=, this] {
      TrainingState& training = *pointers.training;
      const double squares = sum_of_squares(gradients.data<float>(), spec_.elements);
      const double norm = std::sqrt(squares) / static_cast<double>(training.loss_scale);
      training.finite = std::isfinite(squares) ? 1 : 0;
      training.gradient_norm = static_cast<float>(norm);
      training.clip_factor = training.finite != 0 ? clip_factor(norm) : 1.0f;
    });
  }

 private:
  float clip_factor(double norm) const {
    if (spec_.clip_norm == 0.0f) return 1.0f;
    return static_cast<float>(std::min(1.0, static_cast<double>(spec_.clip_norm) / (norm + kClipEpsilon)));
  }

  GradientNormSpec spec_;
};

}  // namespace

std::unique_ptr<GradientNorm> make_cpu_gradient_norm(const GradientNormSpec& spec) {
  expect_valid(spec);
  return std::make_unique<CpuGradientNorm>(spec);
}

}  // namespace tandem
