#include <Eigen/Core>
#include <algorithm>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/eigen_maps.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

constexpr float kSqrt2OverPi = 0.7978845608028654f;
constexpr float kCubic = 0.044715f;

// y = gelu(z), both flat.
void gelu(const ArrayMap& z, ArrayMap y) {
  y = 0.5f * z * (1.0f + (kSqrt2OverPi * z * (1.0f + kCubic * z.square())).tanh());
}

// dx *= gelu'(z), in pieces that stay in the first-level cache: tanh is needed twice.
//   u = sqrt(2/pi) (z + c z^3), t = tanh u:  gelu' = (1 + t)/2 + z/2 (1 - t^2) sqrt(2/pi) (1 + 3 c z^2)
void multiply_by_gelu_gradient(const ArrayMap& z, ArrayMap dx) {
  constexpr Eigen::Index kPiece = 1024;
  Eigen::Array<float, kPiece, 1> piece;
  for (Eigen::Index begin = 0; begin < z.size(); begin += kPiece) {
    const auto count = std::min(kPiece, z.size() - begin);
    const auto z_piece = z.segment(begin, count);
    auto t = piece.head(count);
    t = (kSqrt2OverPi * z_piece * (1.0f + kCubic * z_piece.square())).tanh();
    dx.segment(begin, count) *= 0.5f * (1.0f + t) + (0.5f * kSqrt2OverPi) * z_piece * (1.0f - t.square()) *
                                                        (1.0f + 3.0f * kCubic * z_piece.square());
  }
}

class CpuLinear final : public Linear {
 public:
  explicit CpuLinear(const LinearSpec& spec) : spec_(spec) {}

  ByteCount workspace_bytes() const override { return ByteCount(0); }
  void forward(Stream& stream, const Forward& tensors) override;
  void backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw, TensorView) override;
  void backward_bias(Stream& stream, TensorView dy, GradTarget dbias, TensorView) override;
  void backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx, TensorView z_of_input,
                      TensorView) override;

 private:
  MatrixMap input(const TensorView& x) const { return matrix(x, spec_.rows, spec_.in); }
  MatrixMap output(const TensorView& y) const { return matrix(y, spec_.rows, spec_.out); }
  MatrixMap weight(const TensorView& w) const { return matrix(w, spec_.out, spec_.in); }
  Shape input_shape() const { return {spec_.rows, spec_.in}; }
  Shape output_shape() const { return {spec_.rows, spec_.out}; }
  Shape weight_shape() const { return {spec_.out, spec_.in}; }

  LinearSpec spec_;
};

void CpuLinear::forward(Stream& stream, const Forward& tensors) {
  expect_tensor("linear x", tensors.x, DType::F32, input_shape());
  expect_tensor("linear w", tensors.w, DType::F32, weight_shape());
  expect_tensor("linear y", tensors.y, DType::F32, output_shape());
  if (spec_.tail == LinearTail::None) {
    expect_no_tensor("linear bias", tensors.bias);
  } else {
    expect_tensor("linear bias", tensors.bias, DType::F32, {spec_.out});
  }
  if (spec_.tail == LinearTail::BiasGelu) {
    expect_tensor("linear z", tensors.z, DType::F32, output_shape());
  } else {
    expect_no_tensor("linear z", tensors.z);
  }

  as_cpu(stream).enqueue([this, tensors] {
    const bool with_gelu = spec_.tail == LinearTail::BiasGelu;
    MatrixMap product = output(with_gelu ? tensors.z : tensors.y);
    if (spec_.tail == LinearTail::None) {
      product.noalias() = input(tensors.x) * weight(tensors.w).transpose();
    } else {
      // The product adds to memory that it would otherwise clear: the bias costs no pass of its own.
      product.rowwise() = array(tensors.bias).matrix().transpose();
      product.noalias() += input(tensors.x) * weight(tensors.w).transpose();
    }
    if (with_gelu) gelu(array(tensors.z), array(tensors.y));
  });
}

void CpuLinear::backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw, TensorView) {
  expect_tensor("linear x", x, DType::F32, input_shape());
  expect_tensor("linear dy", dy, DType::F32, output_shape());
  expect_tensor("linear dw", dw.view, DType::F32, weight_shape());
  as_cpu(stream).enqueue([this, x, dy, dw] {
    const auto product = output(dy).transpose() * input(x);
    if (dw.mode == GradMode::Overwrite) {
      weight(dw.view).noalias() = product;
    } else {
      weight(dw.view).noalias() += product;
    }
  });
}

void CpuLinear::backward_bias(Stream& stream, TensorView dy, GradTarget dbias, TensorView) {
  expect_tensor("linear dy", dy, DType::F32, output_shape());
  expect_tensor("linear dbias", dbias.view, DType::F32, {spec_.out});
  as_cpu(stream).enqueue([this, dy, dbias] {
    // Row by row, along memory; in two levels, so that rounding grows with the square root of the rows.
    constexpr std::int64_t kBlock = 64;
    const MatrixMap gradient = output(dy);
    Eigen::ArrayXf total = Eigen::ArrayXf::Zero(spec_.out);
    Eigen::ArrayXf block(spec_.out);
    for (std::int64_t begin = 0; begin < spec_.rows; begin += kBlock) {
      const auto end = std::min(begin + kBlock, spec_.rows);
      block.setZero();
      for (std::int64_t row = begin; row < end; ++row) block += gradient.row(row).transpose().array();
      total += block;
    }
    if (dbias.mode == GradMode::Overwrite) {
      array(dbias.view) = total;
    } else {
      array(dbias.view) += total;
    }
  });
}

void CpuLinear::backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                               TensorView z_of_input, TensorView) {
  expect_tensor("linear dy", dy, DType::F32, output_shape());
  expect_tensor("linear w", w, DType::F32, weight_shape());
  expect_tensor("linear dx", dx, DType::F32, input_shape());
  if (spec_.input_is_gelu) {
    expect_tensor("linear z_of_input", z_of_input, DType::F32, input_shape());
  } else {
    expect_no_tensor("linear z_of_input", z_of_input);
  }
  as_cpu(stream).enqueue([this, dy, w, dx, z_of_input] {
    input(dx).noalias() = output(dy) * weight(w);
    if (spec_.input_is_gelu) multiply_by_gelu_gradient(array(z_of_input), array(dx));
  });
}

}  // namespace

std::unique_ptr<Linear> make_cpu_linear(const LinearSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("linear", spec.dtype);
  return std::make_unique<CpuLinear>(spec);
}

}  // namespace tandem
