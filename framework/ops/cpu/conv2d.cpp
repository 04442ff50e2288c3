// Convolution without a table of patches: see tile_product.h for the product and correlation.h for the
// blocks.
//
// The data gradient of a strided convolution is stride * stride ordinary ones. Image rows h = stride * i + a
// of one phase a are reached by the filter rows r = r0 + stride * r' only, r0 = (a + padding) mod stride,
// from output row p = i + (a + padding - r0) / stride - r'. With the filter turned around that is a
// correlation of dy with stride 1; likewise for columns.
#include <algorithm>
#include <cstring>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/correlation.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/tile_product.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

constexpr std::int64_t kAlignedFloats = 16;  // 64 bytes

// The strip that holds output channel k, and where it begins.
struct StripPlace {
  std::int64_t offset, step;
};
StripPlace strip_place(const Correlation& shape, std::int64_t k) {
  const std::int64_t first = k / kStripWidth * kStripWidth;
  const std::int64_t width = whole_vectors(std::min<std::int64_t>(kStripWidth, shape.K - first));
  return {first * shape.taps() + k - first, width};
}

Correlation forward_shape(const Conv2dSpec& s) {
  return {.H = s.H,
          .W = s.W,
          .C = s.C,
          .P = s.P(),
          .Q = s.Q(),
          .K = s.K,
          .R = s.R,
          .S = s.S,
          .stride = s.stride,
          .origin_h = -s.padding,
          .origin_w = -s.padding};
}

// One axis of one phase of the data gradient.
struct PhaseAxis {
  std::int64_t extent;     // image rows of this phase
  std::int64_t first_tap;  // r0
  std::int64_t taps;       // filter rows of this phase
  std::int64_t origin;     // row of dy under the turned filter's first tap, for i = 0
};
PhaseAxis phase_axis(const Conv2dSpec& spec, std::int64_t extent, std::int64_t filter, std::int64_t phase) {
  const std::int64_t first_tap = (phase + spec.padding) % spec.stride;
  const std::int64_t taps = std::max<std::int64_t>((filter - first_tap + spec.stride - 1) / spec.stride, 0);
  return {std::max<std::int64_t>((extent - phase + spec.stride - 1) / spec.stride, 0), first_tap, taps,
          (phase + spec.padding - first_tap) / spec.stride - taps + 1};
}

// A phase: the image positions (stride * i + row, stride * j + column).
struct Phase {
  std::int64_t row, column;
  PhaseAxis h, w;
  Correlation shape;
  BlockReader reader;
};

class CpuConv2d final : public Conv2d {
 public:
  explicit CpuConv2d(const Conv2dSpec& spec);

  ByteCount workspace_bytes() const override { return bytes_of(ElementCount(workspace_floats_), DType::F32); }
  void forward(Stream& stream, TensorView x, TensorView w, TensorView y, TensorView workspace) override;
  void backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                       TensorView workspace) override;
  void backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                      TensorView workspace) override;

 private:
  void make_phases();
  Shape image_shape() const { return {spec_.N, spec_.H, spec_.W, spec_.C}; }
  Shape filter_shape() const { return {spec_.K, spec_.R, spec_.S, spec_.C}; }
  Shape output_shape() const { return {spec_.N, spec_.P(), spec_.Q(), spec_.K}; }
  std::int64_t image_floats() const { return spec_.H * spec_.W * spec_.C; }
  std::int64_t output_floats() const { return spec_.P() * spec_.Q() * spec_.K; }
  bool ragged() const { return spec_.K % kLanes != 0; }

  void pack_filters(const float* w, float* strips) const;
  void unpack_gradient(const float* strips, GradTarget dw) const;
  void pack_turned_filters(const float* w, const Phase& phase, float* strips) const;
  void clear_phase(const Phase& phase, float* dx) const;

  Conv2dSpec spec_;
  Correlation shape_;
  BlockReader reader_;
  std::vector<Phase> phases_;
  // Workspace: strips of filters or of their gradient, then the blocks' scratch, then a copy of one image's
  // dy.
  std::int64_t scratch_at_ = 0;
  std::int64_t copy_at_ = 0;
  std::int64_t workspace_floats_ = 0;
};

CpuConv2d::CpuConv2d(const Conv2dSpec& spec) : spec_(spec), shape_(forward_shape(spec)), reader_(shape_) {
  make_phases();
  const auto aligned = [](std::int64_t floats) {
    return (floats + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
  };
  std::int64_t strips = strip_floats(shape_);
  std::int64_t scratch = reader_.scratch_floats();
  for (const Phase& phase : phases_) {
    strips = std::max(strips, strip_floats(phase.shape));
    scratch = std::max(scratch, phase.reader.scratch_floats());
  }
  scratch_at_ = aligned(strips);
  copy_at_ = scratch_at_ + aligned(scratch);
  workspace_floats_ = copy_at_ + (ragged() ? aligned(output_floats() + kLanes) : 0);
}

void CpuConv2d::make_phases() {
  for (std::int64_t row = 0; row < std::min(spec_.stride, spec_.H); ++row) {
    for (std::int64_t column = 0; column < std::min(spec_.stride, spec_.W); ++column) {
      const PhaseAxis h = phase_axis(spec_, spec_.H, spec_.R, row);
      const PhaseAxis w = phase_axis(spec_, spec_.W, spec_.S, column);
      const Correlation shape{.H = spec_.P(),
                              .W = spec_.Q(),
                              .C = spec_.K,
                              .P = h.extent,
                              .Q = w.extent,
                              .K = spec_.C,
                              .R = h.taps,
                              .S = w.taps,
                              .stride = 1,
                              .origin_h = h.origin,
                              .origin_w = w.origin};
      phases_.push_back({row, column, h, w, shape, BlockReader(shape)});
    }
  }
}

void CpuConv2d::forward(Stream& stream, TensorView x, TensorView w, TensorView y, TensorView workspace) {
  expect_tensor("conv2d x", x, DType::F32, image_shape());
  expect_tensor("conv2d w", w, DType::F32, filter_shape());
  expect_tensor("conv2d y", y, DType::F32, output_shape());
  expect_memory("conv2d workspace", workspace, workspace_bytes());
  as_cpu(stream).enqueue([this, x, w, y, workspace] {
    auto* strips = static_cast<float*>(workspace.raw());
    pack_filters(w.data<float>(), strips);
    for (std::int64_t n = 0; n < spec_.N; ++n) {
      const Positions out{y.data<float>() + n * output_floats(), spec_.Q() * spec_.K, spec_.K};
      correlate(shape_, reader_, x.data<float>() + n * image_floats(), strips, out, strips + scratch_at_);
    }
  });
}

void CpuConv2d::backward_weight(Stream& stream, TensorView x, TensorView dy, GradTarget dw,
                                TensorView workspace) {
  expect_tensor("conv2d x", x, DType::F32, image_shape());
  expect_tensor("conv2d dy", dy, DType::F32, output_shape());
  expect_tensor("conv2d dw", dw.view, DType::F32, filter_shape());
  expect_memory("conv2d workspace", workspace, workspace_bytes());
  as_cpu(stream).enqueue([this, x, dy, dw, workspace] {
    auto* strips = static_cast<float*>(workspace.raw());
    float* copy = strips + copy_at_;
    std::fill_n(strips, strip_floats(shape_), 0.0f);
    for (std::int64_t n = 0; n < spec_.N; ++n) {
      const float* d_out = dy.data<float>() + n * output_floats();
      if (ragged()) {  // whole vectors would be read beyond the end of the tensor
        std::copy_n(d_out, output_floats(), copy);
        std::fill_n(copy + output_floats(), kLanes, 0.0f);
        d_out = copy;
      }
      accumulate_filters(shape_, reader_, x.data<float>() + n * image_floats(), d_out, strips,
                         strips + scratch_at_);
    }
    unpack_gradient(strips, dw);
  });
}

void CpuConv2d::backward_input(Stream& stream, TensorView dy, TensorView w, TensorView dx,
                               TensorView workspace) {
  expect_tensor("conv2d dy", dy, DType::F32, output_shape());
  expect_tensor("conv2d w", w, DType::F32, filter_shape());
  expect_tensor("conv2d dx", dx, DType::F32, image_shape());
  expect_memory("conv2d workspace", workspace, workspace_bytes());
  as_cpu(stream).enqueue([this, dy, w, dx, workspace] {
    auto* strips = static_cast<float*>(workspace.raw());
    for (const Phase& phase : phases_) {
      if (phase.shape.taps() == 0) {
        clear_phase(phase, dx.data<float>());
        continue;
      }
      pack_turned_filters(w.data<float>(), phase, strips);
      float* first = dx.data<float>() + (phase.row * spec_.W + phase.column) * spec_.C;
      for (std::int64_t n = 0; n < spec_.N; ++n) {
        const Positions out{first + n * image_floats(), spec_.stride * spec_.W * spec_.C,
                            spec_.stride * spec_.C};
        correlate(phase.shape, phase.reader, dy.data<float>() + n * output_floats(), strips, out,
                  strips + scratch_at_);
      }
    }
  });
}

void CpuConv2d::pack_filters(const float* w, float* strips) const {
  std::fill_n(strips, strip_floats(shape_), 0.0f);
  for (std::int64_t k = 0; k < spec_.K; ++k) {
    const auto [offset, step] = strip_place(shape_, k);
    for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
      strips[offset + tap * step] = w[k * shape_.taps() + tap];
    }
  }
}

void CpuConv2d::unpack_gradient(const float* strips, GradTarget dw) const {
  auto* gradient = dw.view.data<float>();
  const bool accumulate = dw.mode == GradMode::Accumulate;
  for (std::int64_t k = 0; k < spec_.K; ++k) {
    const auto [offset, step] = strip_place(shape_, k);
    for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
      float& element = gradient[k * shape_.taps() + tap];
      element = strips[offset + tap * step] + (accumulate ? element : 0.0f);
    }
  }
}

// Strips of the phase's filter [taps of h, taps of w, K] x C, both axes turned around.
void CpuConv2d::pack_turned_filters(const float* w, const Phase& phase, float* strips) const {
  std::fill_n(strips, strip_floats(phase.shape), 0.0f);
  for (std::int64_t c = 0; c < spec_.C; c += kStripWidth) {
    const std::int64_t columns = std::min<std::int64_t>(kStripWidth, spec_.C - c);
    const auto [offset, step] = strip_place(phase.shape, c);
    float* to = strips + offset;
    for (std::int64_t u = phase.h.taps - 1; u >= 0; --u) {
      for (std::int64_t v = phase.w.taps - 1; v >= 0; --v) {
        const std::int64_t r = phase.h.first_tap + u * spec_.stride;
        const std::int64_t s = phase.w.first_tap + v * spec_.stride;
        for (std::int64_t k = 0; k < spec_.K; ++k, to += step) {
          std::copy_n(w + ((k * spec_.R + r) * spec_.S + s) * spec_.C + c, columns, to);
        }
      }
    }
  }
}

// No filter tap reaches the positions of this phase.
void CpuConv2d::clear_phase(const Phase& phase, float* dx) const {
  for (std::int64_t n = 0; n < spec_.N; ++n) {
    for (std::int64_t h = phase.row; h < spec_.H; h += spec_.stride) {
      for (std::int64_t w = phase.column; w < spec_.W; w += spec_.stride) {
        std::fill_n(dx + ((n * spec_.H + h) * spec_.W + w) * spec_.C, spec_.C, 0.0f);
      }
    }
  }
}

}  // namespace

std::unique_ptr<Conv2d> make_cpu_conv2d(const Conv2dSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("conv2d", spec.dtype);
  return std::make_unique<CpuConv2d>(spec);
}

}  // namespace tandem
