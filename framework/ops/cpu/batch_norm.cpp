// All passes go over flat memory in spans of a whole number of rows; per-channel numbers are repeated to fill
// a span. So the inner loops are long and full of whole vectors even where there are 16 channels or 3.
#include <Eigen/Core>
#include <algorithm>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXf;
using Eigen::Index;

constexpr Index kSpanFloats = 256;    // the least; the sums of a span hide the latency of an addition
constexpr Index kBlockFloats = 8192;  // 32 KiB: what is summed in fp32 before it goes into a double

struct Statistics {
  ArrayXd mean, variance;  // biased
};

// (x - mean) * multiplier + offset per channel. The mean goes first: folded into the offset it would cost the
// digits by which it exceeds the deviation.
struct Affine {
  ArrayXf mean, multiplier, offset;
};

// Sums over rows, per channel.
class ChannelSums {
 public:
  ChannelSums(Index span, Index channels) : span_(ArrayXf::Zero(span)), channels_(channels) {}

  void clear() { span_.setZero(); }
  template <class Values>
  void add(Index count, const Values& values) {
    span_.head(count) += values;
  }
  void fold_into(ArrayXd& total) const {
    for (Index row = 0; row < span_.size(); row += channels_) {
      total += span_.segment(row, channels_).cast<double>();
    }
  }

 private:
  ArrayXf span_;
  Index channels_;
};

class CpuBatchNorm final : public BatchNorm {
 public:
  explicit CpuBatchNorm(const BatchNormSpec& spec)
      : spec_(spec),
        span_(spec.C * ((kSpanFloats + spec.C - 1) / spec.C)),
        block_(span_ * std::max<Index>(kBlockFloats / span_, 1)) {}

  ByteCount saved_bytes() const override { return ByteCount(8 * spec_.C + (has_relu() ? elements() : 0)); }
  ByteCount workspace_bytes() const override { return ByteCount(0); }
  void forward_train(Stream& stream, TensorView x, TensorView residual, const BatchNormParameters& parameters,
                     TensorView y, TensorView saved, TensorView workspace) override;
  void forward_evaluate(Stream& stream, TensorView x, TensorView residual,
                        const BatchNormParameters& parameters, TensorView y) override;
  void backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) override;

 private:
  // `saved`: mean [C], 1/deviation [C], then a byte for each element that is 1 where ReLU let it through.
  struct Saved {
    ArrayMap mean, inverse_deviation;
    std::uint8_t* passed;
  };

  bool has_relu() const { return spec_.tail != NormTail::None; }
  Index elements() const { return spec_.rows * spec_.C; }
  Saved saved_in(const TensorView& memory) const {
    auto* floats = static_cast<float*>(memory.raw());
    return {ArrayMap(floats, spec_.C), ArrayMap(floats + spec_.C, spec_.C),
            reinterpret_cast<std::uint8_t*>(floats + 2 * spec_.C)};
  }
  ArrayXf repeated(const ArrayXf& channels) const { return channels.replicate(span_ / spec_.C, 1); }

  void expect_operands(const TensorView& x, const TensorView& residual, const BatchNormParameters& parameters,
                       const TensorView& y) const;
  Statistics batch_statistics(const float* x) const;
  void follow(const Statistics& batch, const BatchNormParameters& parameters) const;
  void use_running(const BatchNormParameters& parameters, ArrayXf& mean, ArrayXf& inverse_deviation) const;
  void normalize(const Affine& affine, const float* x, const float* residual, float* y,
                 std::uint8_t* passed) const;
  void gate(Index begin, Index count, const Addends& dy, const std::uint8_t* passed, float* dz) const;
  void sum_gradients(const Backward& tensors, const Saved& saved, ArrayXd& d_scale, ArrayXd& d_bias) const;
  void propagate(const BatchNormParameters& parameters, const Backward& tensors, const Saved& saved,
                 const ArrayXd& d_scale, const ArrayXd& d_bias) const;

  BatchNormSpec spec_;
  Index span_;
  Index block_;
};

void CpuBatchNorm::expect_operands(const TensorView& x, const TensorView& residual,
                                   const BatchNormParameters& parameters, const TensorView& y) const {
  const Shape shape{spec_.rows, spec_.C};
  expect_tensor("batch_norm x", x, DType::F32, shape);
  expect_tensor("batch_norm y", y, DType::F32, shape);
  if (spec_.tail == NormTail::AddRelu) {
    expect_tensor("batch_norm residual", residual, DType::F32, shape);
  } else {
    expect_no_tensor("batch_norm residual", residual);
  }
  expect_tensor("batch_norm scale", parameters.scale, DType::F32, {spec_.C});
  expect_tensor("batch_norm bias", parameters.bias, DType::F32, {spec_.C});
  if (spec_.statistics == NormStatistics::Identity) return;
  expect_tensor("batch_norm running_mean", parameters.running_mean, DType::F32, {spec_.C});
  expect_tensor("batch_norm running_variance", parameters.running_variance, DType::F32, {spec_.C});
}

void CpuBatchNorm::forward_train(Stream& stream, TensorView x, TensorView residual,
                                 const BatchNormParameters& parameters, TensorView y, TensorView saved,
                                 TensorView) {
  expect_operands(x, residual, parameters, y);
  expect_memory("batch_norm saved", saved, saved_bytes());
  as_cpu(stream).enqueue([this, x, residual, parameters, y, saved] {
    Saved to = saved_in(saved);
    if (spec_.statistics == NormStatistics::Batch) {
      const Statistics batch = batch_statistics(x.data<float>());
      to.mean = batch.mean.cast<float>();
      to.inverse_deviation = (batch.variance + spec_.epsilon).sqrt().inverse().cast<float>();
      follow(batch, parameters);
    } else {
      ArrayXf mean, inverse_deviation;
      use_running(parameters, mean, inverse_deviation);
      to.mean = mean;
      to.inverse_deviation = inverse_deviation;
    }
    const Affine affine{to.mean, array(parameters.scale) * to.inverse_deviation, array(parameters.bias)};
    normalize(affine, x.data<float>(), residual.empty() ? nullptr : residual.data<float>(), y.data<float>(),
              has_relu() ? to.passed : nullptr);
  });
}

void CpuBatchNorm::forward_evaluate(Stream& stream, TensorView x, TensorView residual,
                                    const BatchNormParameters& parameters, TensorView y) {
  expect_operands(x, residual, parameters, y);
  as_cpu(stream).enqueue([this, x, residual, parameters, y] {
    ArrayXf mean, inverse_deviation;
    use_running(parameters, mean, inverse_deviation);
    const Affine affine{mean, array(parameters.scale) * inverse_deviation, array(parameters.bias)};
    normalize(affine, x.data<float>(), residual.empty() ? nullptr : residual.data<float>(), y.data<float>(),
              nullptr);
  });
}

// Each block is read twice, from the first-level cache: its mean, then the squares around that mean, which
// loses no digits however far the mean is from zero. Blocks are joined in double by the pairwise formula of
// Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983, eq. 2.1.
Statistics CpuBatchNorm::batch_statistics(const float* x) const {
  Statistics total{ArrayXd::Zero(spec_.C), ArrayXd::Zero(spec_.C)};
  ArrayXd& squares = total.variance;
  ChannelSums sums(span_, spec_.C);
  double rows_before = 0.0;
  for (Index begin = 0; begin < elements(); begin += block_) {
    const Index end = std::min(begin + block_, elements());
    const Index block_rows = (end - begin) / spec_.C;
    const auto rows = static_cast<double>(block_rows);
    const auto for_each_span = [&](auto visit) {
      for (Index at = begin; at < end; at += span_) {
        const Index count = std::min(span_, end - at);
        visit(count, Eigen::Map<const ArrayXf>(x + at, count));
      }
    };
    sums.clear();
    for_each_span([&](Index count, const auto& values) { sums.add(count, values); });
    ArrayXd mean = ArrayXd::Zero(spec_.C);
    sums.fold_into(mean);
    mean /= rows;

    const ArrayXf center_of_channels = mean.cast<float>();
    const ArrayXf center = repeated(center_of_channels);
    sums.clear();
    for_each_span(
        [&](Index count, const auto& values) { sums.add(count, (values - center.head(count)).square()); });
    sums.fold_into(squares);
    // The center was rounded to fp32; this is what that added to the squares.
    squares -= rows * (mean - center_of_channels.cast<double>()).square();

    const double all = rows_before + rows;
    const ArrayXd apart = mean - total.mean;
    total.mean += apart * (rows / all);
    squares += apart.square() * (rows_before * rows / all);
    rows_before = all;
  }
  squares /= static_cast<double>(spec_.rows);
  return total;
}

void CpuBatchNorm::follow(const Statistics& batch, const BatchNormParameters& parameters) const {
  const auto rows = static_cast<double>(spec_.rows);
  const float keep = 1.0f - spec_.momentum;
  array(parameters.running_mean) =
      keep * array(parameters.running_mean) + spec_.momentum * batch.mean.cast<float>();
  array(parameters.running_variance) =
      keep * array(parameters.running_variance) +
      spec_.momentum * (batch.variance * (rows / (rows - 1.0))).cast<float>();
}

void CpuBatchNorm::use_running(const BatchNormParameters& parameters, ArrayXf& mean,
                               ArrayXf& inverse_deviation) const {
  if (spec_.statistics == NormStatistics::Identity) {
    mean = ArrayXf::Zero(spec_.C);
    inverse_deviation = ArrayXf::Ones(spec_.C);
    return;
  }
  mean = array(parameters.running_mean);
  inverse_deviation =
      (array(parameters.running_variance).cast<double>() + spec_.epsilon).sqrt().inverse().cast<float>();
}

// y = tail(affine(x) [+ residual]). A NaN passes ReLU, so that nobody trains on past it.
void CpuBatchNorm::normalize(const Affine& affine, const float* x, const float* residual, float* y,
                             std::uint8_t* passed) const {
  const ArrayXf mean = repeated(affine.mean), a = repeated(affine.multiplier), b = repeated(affine.offset);
  for (Index at = 0; at < elements(); at += span_) {
    const Index count = std::min(span_, elements() - at);
    for (Index i = 0; i < count; ++i) y[at + i] = a[i] * (x[at + i] - mean[i]) + b[i];
    if (residual != nullptr) {
      for (Index i = 0; i < count; ++i) y[at + i] += residual[at + i];
    }
    if (passed != nullptr) {
      for (Index i = 0; i < count; ++i) passed[at + i] = !(y[at + i] <= 0.0f);
    }
    if (has_relu()) {
      for (Index i = 0; i < count; ++i) y[at + i] = y[at + i] <= 0.0f ? 0.0f : y[at + i];
    }
  }
}

void CpuBatchNorm::backward(Stream& stream, const BatchNormParameters& parameters, const Backward& tensors) {
  const Shape shape{spec_.rows, spec_.C};
  expect_tensor("batch_norm dy.first", tensors.dy.first, DType::F32, shape);
  if (!tensors.dy.second.empty()) expect_tensor("batch_norm dy.second", tensors.dy.second, DType::F32, shape);
  expect_operands(tensors.x, tensors.d_residual, parameters, tensors.dx);
  expect_memory("batch_norm saved", tensors.saved, saved_bytes());
  expect_tensor("batch_norm d_scale", tensors.d_scale.view, DType::F32, {spec_.C});
  expect_tensor("batch_norm d_bias", tensors.d_bias.view, DType::F32, {spec_.C});
  as_cpu(stream).enqueue([this, parameters, tensors] {
    const Saved saved = saved_in(tensors.saved);
    ArrayXd d_scale = ArrayXd::Zero(spec_.C);
    ArrayXd d_bias = ArrayXd::Zero(spec_.C);
    sum_gradients(tensors, saved, d_scale, d_bias);
    propagate(parameters, tensors, saved, d_scale, d_bias);
    const auto write = [](const GradTarget& target, const ArrayXd& gradient) {
      if (target.mode == GradMode::Overwrite) {
        array(target.view) = gradient.cast<float>();
      } else {
        array(target.view) += gradient.cast<float>();
      }
    };
    write(tensors.d_scale, d_scale);
    write(tensors.d_bias, d_bias);
  });
}

// dz: the gradient at z, `count` elements from `begin` on.
void CpuBatchNorm::gate(Index begin, Index count, const Addends& dy, const std::uint8_t* passed,
                        float* dz) const {
  const float* first = dy.first.data<float>() + begin;
  if (dy.second.empty()) {
    std::copy_n(first, count, dz);
  } else {
    const float* second = dy.second.data<float>() + begin;
    for (Index i = 0; i < count; ++i) dz[i] = first[i] + second[i];
  }
  if (!has_relu()) return;
  for (Index i = 0; i < count; ++i) dz[i] = passed[begin + i] != 0 ? dz[i] : 0.0f;
}

// d_bias = sum of dz, d_scale = sum of dz * xhat, xhat = (x - mean) / deviation. dz itself is the gradient of
// the residual and is kept there.
void CpuBatchNorm::sum_gradients(const Backward& tensors, const Saved& saved, ArrayXd& d_scale,
                                 ArrayXd& d_bias) const {
  const ArrayXf mean = repeated(saved.mean);
  const float* x = tensors.x.data<float>();
  float* kept = tensors.d_residual.empty() ? nullptr : tensors.d_residual.data<float>();
  ArrayXf scratch(span_);
  ChannelSums bias_sums(span_, spec_.C);
  ChannelSums scale_sums(span_, spec_.C);
  for (Index begin = 0; begin < elements(); begin += block_) {
    bias_sums.clear();
    scale_sums.clear();
    for (Index at = begin; at < std::min(begin + block_, elements()); at += span_) {
      const Index count = std::min(span_, elements() - at);
      float* memory = kept != nullptr ? kept + at : scratch.data();
      gate(at, count, tensors.dy, saved.passed, memory);
      const Eigen::Map<const ArrayXf> dz(memory, count);
      bias_sums.add(count, dz);
      scale_sums.add(count, dz * (Eigen::Map<const ArrayXf>(x + at, count) - mean.head(count)));
    }
    bias_sums.fold_into(d_bias);
    scale_sums.fold_into(d_scale);
  }
  d_scale *= saved.inverse_deviation.cast<double>();
}

// With constant statistics dx = scale / deviation * dz. Statistics of the batch depend on x themselves:
//   dx = scale / deviation * (dz - d_bias / rows - xhat * d_scale / rows)
void CpuBatchNorm::propagate(const BatchNormParameters& parameters, const Backward& tensors,
                             const Saved& saved, const ArrayXd& d_scale, const ArrayXd& d_bias) const {
  const ArrayXf of_dz = array(parameters.scale) * saved.inverse_deviation;
  ArrayXf of_x = ArrayXf::Zero(spec_.C);
  ArrayXf constant = ArrayXf::Zero(spec_.C);
  if (spec_.statistics == NormStatistics::Batch) {
    const auto rows = static_cast<double>(spec_.rows);
    of_x = -(of_dz.cast<double>() * d_scale / rows * saved.inverse_deviation.cast<double>()).cast<float>();
    constant = -(of_dz.cast<double>() * d_bias / rows).cast<float>();
  }
  const ArrayXf a = repeated(of_dz), b = repeated(of_x), c = repeated(constant), mean = repeated(saved.mean);
  const float* x = tensors.x.data<float>();
  float* dx = tensors.dx.data<float>();
  const bool kept = !tensors.d_residual.empty();
  ArrayXf scratch(span_);
  for (Index at = 0; at < elements(); at += span_) {
    const Index count = std::min(span_, elements() - at);
    const float* dz = kept ? tensors.d_residual.data<float>() + at : scratch.data();
    if (!kept) gate(at, count, tensors.dy, saved.passed, scratch.data());
    for (Index i = 0; i < count; ++i) dx[at + i] = a[i] * dz[i] + (b[i] * (x[at + i] - mean[i]) + c[i]);
  }
}

}  // namespace

std::unique_ptr<BatchNorm> make_cpu_batch_norm(const BatchNormSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("batch_norm", spec.dtype);
  return std::make_unique<CpuBatchNorm>(spec);
}

}  // namespace tandem
