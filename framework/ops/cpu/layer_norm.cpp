// Layer normalisation on the CPU: one row at a time, everything a row needs in one or two passes over it.
#include <cmath>
#include <memory>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

using DoubleRow = Eigen::Map<Eigen::ArrayXd>;

// Overwrites or adds to a gradient of C elements.
void write(const GradTarget& target, const DoubleRow& values) {
  ArrayMap gradient(target.view.data<float>(), values.size());
  if (target.mode == GradMode::Overwrite) {
    gradient = values.cast<float>();
  } else {
    gradient += values.cast<float>();
  }
}

class CpuLayerNorm final : public LayerNorm {
 public:
  explicit CpuLayerNorm(const LayerNormSpec& spec) : spec_(spec) {}

  ByteCount saved_bytes() const override { return bytes_of(ElementCount(2 * spec_.rows), DType::F32); }

  // The sums over rows that become d_scale and d_bias: in double, since there may be a hundred thousand rows;
  // then one row of gradients.
  ByteCount workspace_bytes() const override {
    return ByteCount(spec_.C * static_cast<std::int64_t>(2 * sizeof(double) + sizeof(float)));
  }

  void forward(Stream& stream, const Forward& tensors) override {
    const Shape rows{spec_.rows, spec_.C};
    expect_tensor("layer_norm x.first", tensors.x.first, DType::F32, rows);
    if (tensors.x.second.empty()) {
      expect_no_tensor("layer_norm sum", tensors.sum);
    } else {
      expect_tensor("layer_norm x.second", tensors.x.second, DType::F32, rows);
      expect_tensor("layer_norm sum", tensors.sum, DType::F32, rows);
    }
    expect_tensor("layer_norm scale", tensors.scale, DType::F32, {spec_.C});
    expect_tensor("layer_norm bias", tensors.bias, DType::F32, {spec_.C});
    expect_tensor("layer_norm y", tensors.y, DType::F32, rows);
    expect_memory("layer_norm saved", tensors.saved, saved_bytes());
    as_cpu(stream).enqueue([this, tensors] { forward_rows(tensors); });
  }

  void backward(Stream& stream, const Backward& tensors) override {
    const Shape rows{spec_.rows, spec_.C};
    expect_tensor("layer_norm dy", tensors.dy, DType::F32, rows);
    expect_tensor("layer_norm x", tensors.x, DType::F32, rows);
    expect_tensor("layer_norm scale", tensors.scale, DType::F32, {spec_.C});
    if (!tensors.d_residual.empty()) {
      expect_tensor("layer_norm d_residual", tensors.d_residual, DType::F32, rows);
    }
    expect_tensor("layer_norm dx", tensors.dx, DType::F32, rows);
    expect_tensor("layer_norm d_scale", tensors.d_scale.view, DType::F32, {spec_.C});
    expect_tensor("layer_norm d_bias", tensors.d_bias.view, DType::F32, {spec_.C});
    expect_memory("layer_norm saved", tensors.saved, saved_bytes());
    expect_memory("layer_norm workspace", tensors.workspace, workspace_bytes());
    as_cpu(stream).enqueue([this, tensors] { backward_rows(tensors); });
  }

 private:
  void forward_rows(const Forward& tensors) const {
    const auto C = spec_.C;
    const ConstArrayMap scale(tensors.scale.data<float>(), C);
    const ConstArrayMap bias(tensors.bias.data<float>(), C);
    auto* saved = static_cast<float*>(tensors.saved.raw());
    const float* x_rows = tensors.x.first.data<float>();
    if (!tensors.x.second.empty()) {
      ArrayMap(tensors.sum.data<float>(), spec_.rows * C) =
          ConstArrayMap(x_rows, spec_.rows * C) +
          ConstArrayMap(tensors.x.second.data<float>(), spec_.rows * C);
      x_rows = tensors.sum.data<float>();
    }
    for (std::int64_t row = 0; row < spec_.rows; ++row) {
      const ConstArrayMap x(x_rows + row * C, C);
      const float mean = x.mean();
      const float variance = (x - mean).square().mean();
      const float inverse_deviation = 1.0f / std::sqrt(variance + spec_.epsilon);
      ArrayMap(tensors.y.data<float>() + row * C, C) = (x - mean) * inverse_deviation * scale + bias;
      saved[2 * row] = mean;
      saved[2 * row + 1] = inverse_deviation;
    }
  }

  // With n = (x - mean) / deviation and g = dy * scale:
  //   dx = (g - mean(g) - n * mean(g n)) / deviation
  void backward_rows(const Backward& tensors) const {
    const auto C = spec_.C;
    const ConstArrayMap scale(tensors.scale.data<float>(), C);
    const auto* saved = static_cast<const float*>(tensors.saved.raw());
    DoubleRow d_scale(static_cast<double*>(tensors.workspace.raw()), C);
    DoubleRow d_bias(static_cast<double*>(tensors.workspace.raw()) + C, C);
    ArrayMap gradient(reinterpret_cast<float*>(d_bias.data() + C), C);
    d_scale.setZero();
    d_bias.setZero();
    for (std::int64_t row = 0; row < spec_.rows; ++row) {
      const ConstArrayMap dy(tensors.dy.data<float>() + row * C, C);
      const ConstArrayMap x(tensors.x.data<float>() + row * C, C);
      const float mean = saved[2 * row];
      const float inverse_deviation = saved[2 * row + 1];
      const auto normalised = (x - mean) * inverse_deviation;
      // In memory: contracted into a multiply-add with what is subtracted below, rows whose values hardly
      // differ would be left with the rounding of what should vanish.
      gradient = dy * scale;
      const float gradient_mean = gradient.mean();
      const float projection = (gradient * normalised).mean();
      // Everything that sums over dy comes before dx, which may be the same memory.
      d_scale += (dy * normalised).cast<double>();
      d_bias += dy.cast<double>();
      const auto through_norm = (gradient - gradient_mean - normalised * projection) * inverse_deviation;
      ArrayMap dx(tensors.dx.data<float>() + row * C, C);
      if (tensors.d_residual.empty()) {
        dx = through_norm;
      } else {
        dx = through_norm + ConstArrayMap(tensors.d_residual.data<float>() + row * C, C);
      }
    }
    write(tensors.d_scale, d_scale);
    write(tensors.d_bias, d_bias);
  }

  LayerNormSpec spec_;
};

}  // namespace

std::unique_ptr<LayerNorm> make_cpu_layer_norm(const LayerNormSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("layer_norm", spec.dtype);
  return std::make_unique<CpuLayerNorm>(spec);
}

}  // namespace tandem
