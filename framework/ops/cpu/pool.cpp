#include <algorithm>
#include <cstdint>
#include <limits>

#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

// The part of a window that lies inside the image, along one axis.
struct Range {
  std::int64_t begin, end;
};
Range inside(std::int64_t start, std::int64_t window, std::int64_t extent) {
  return {std::max<std::int64_t>(start, 0), std::min(start + window, extent)};
}

class CpuPool final : public Pool {
 public:
  explicit CpuPool(const PoolSpec& spec) : spec_(spec) {}

  // The winner of each output element: its place in the window, row * window_w + column.
  ByteCount saved_bytes() const override {
    return ByteCount(spec_.kind == PoolKind::Max ? output_shape().elements().value() * 2 : 0);
  }
  void forward(Stream& stream, TensorView x, TensorView y, TensorView saved) override;
  void backward(Stream& stream, Addends dy, TensorView saved, TensorView dx) override;

 private:
  Shape image_shape() const { return {spec_.N, spec_.H, spec_.W, spec_.C}; }
  Shape output_shape() const { return {spec_.N, spec_.P(), spec_.Q(), spec_.C}; }

  // Calls visit(output position, window start row, column, image) for all positions of all images.
  template <class Visit>
  void for_each_position(Visit visit) const {
    std::int64_t position = 0;
    for (std::int64_t n = 0; n < spec_.N; ++n) {
      for (std::int64_t p = 0; p < spec_.P(); ++p) {
        for (std::int64_t q = 0; q < spec_.Q(); ++q, ++position) {
          visit(position, p * spec_.stride - spec_.padding, q * spec_.stride - spec_.padding, n);
        }
      }
    }
  }
  // Calls visit(offset of the pixel, place in the window) for each pixel of a window, in row-major order.
  template <class Visit>
  void for_each_pixel(std::int64_t top, std::int64_t left, std::int64_t image, Visit visit) const {
    const Range rows = inside(top, spec_.window_h, spec_.H);
    const Range columns = inside(left, spec_.window_w, spec_.W);
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      for (std::int64_t w = columns.begin; w < columns.end; ++w) {
        visit(((image * spec_.H + h) * spec_.W + w) * spec_.C,
              static_cast<std::uint16_t>((h - top) * spec_.window_w + (w - left)));
      }
    }
  }
  float share(std::int64_t top, std::int64_t left) const {
    const Range rows = inside(top, spec_.window_h, spec_.H);
    const Range columns = inside(left, spec_.window_w, spec_.W);
    return 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
  }

  void take_maxima(const float* x, float* y, std::uint16_t* winners) const;
  void take_averages(const float* x, float* y) const;

  PoolSpec spec_;
};

void CpuPool::forward(Stream& stream, TensorView x, TensorView y, TensorView saved) {
  expect_tensor("pool x", x, DType::F32, image_shape());
  expect_tensor("pool y", y, DType::F32, output_shape());
  expect_memory("pool saved", saved, saved_bytes());
  as_cpu(stream).enqueue([this, x, y, saved] {
    if (spec_.kind == PoolKind::Max) {
      take_maxima(x.data<float>(), y.data<float>(), static_cast<std::uint16_t*>(saved.raw()));
    } else {
      take_averages(x.data<float>(), y.data<float>());
    }
  });
}

// A NaN wins over everything, so that it is seen, as in PyTorch.
void CpuPool::take_maxima(const float* x, float* y, std::uint16_t* winners) const {
  for_each_position([&](std::int64_t position, std::int64_t top, std::int64_t left, std::int64_t image) {
    float* best = y + position * spec_.C;
    std::uint16_t* winner = winners + position * spec_.C;
    std::fill_n(best, spec_.C, -std::numeric_limits<float>::infinity());
    bool first = true;
    for_each_pixel(top, left, image, [&](std::int64_t offset, std::uint16_t place) {
      const float* pixel = x + offset;
      for (std::int64_t c = 0; c < spec_.C; ++c) {
        const bool wins = first || pixel[c] > best[c] || pixel[c] != pixel[c];
        winner[c] = wins ? place : winner[c];
        best[c] = wins ? pixel[c] : best[c];
      }
      first = false;
    });
  });
}

void CpuPool::take_averages(const float* x, float* y) const {
  for_each_position([&](std::int64_t position, std::int64_t top, std::int64_t left, std::int64_t image) {
    float* average = y + position * spec_.C;
    std::fill_n(average, spec_.C, 0.0f);
    for_each_pixel(top, left, image, [&](std::int64_t offset, std::uint16_t) {
      for (std::int64_t c = 0; c < spec_.C; ++c) average[c] += x[offset + c];
    });
    const float factor = share(top, left);
    for (std::int64_t c = 0; c < spec_.C; ++c) average[c] *= factor;
  });
}

void CpuPool::backward(Stream& stream, Addends dy, TensorView saved, TensorView dx) {
  expect_tensor("pool dy.first", dy.first, DType::F32, output_shape());
  if (!dy.second.empty()) expect_tensor("pool dy.second", dy.second, DType::F32, output_shape());
  expect_tensor("pool dx", dx, DType::F32, image_shape());
  expect_memory("pool saved", saved, saved_bytes());
  as_cpu(stream).enqueue([this, dy, saved, dx] {
    const float* first = dy.first.data<float>();
    const float* second = dy.second.empty() ? nullptr : dy.second.data<float>();
    const auto* winners = static_cast<const std::uint16_t*>(saved.raw());
    auto* gradient = dx.data<float>();
    const auto d_out = [&](std::int64_t i) { return second == nullptr ? first[i] : first[i] + second[i]; };
    std::fill_n(gradient, dx.elements().value(), 0.0f);
    for_each_position([&](std::int64_t position, std::int64_t top, std::int64_t left, std::int64_t image) {
      const std::int64_t at = position * spec_.C;
      if (spec_.kind == PoolKind::Max) {
        for (std::int64_t c = 0; c < spec_.C; ++c) {
          const std::int64_t h = top + winners[at + c] / spec_.window_w;
          const std::int64_t w = left + winners[at + c] % spec_.window_w;
          gradient[((image * spec_.H + h) * spec_.W + w) * spec_.C + c] += d_out(at + c);
        }
        return;
      }
      const float factor = share(top, left);
      for_each_pixel(top, left, image, [&](std::int64_t offset, std::uint16_t) {
        for (std::int64_t c = 0; c < spec_.C; ++c) gradient[offset + c] += factor * d_out(at + c);
      });
    });
  });
}

}  // namespace

std::unique_ptr<Pool> make_cpu_pool(const PoolSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("pool", spec.dtype);
  TANDEM_EXPECT(spec.window_h * spec.window_w <= std::numeric_limits<std::uint16_t>::max(),
                "pool: expected a window of at most 65535 elements, found {} x {}", spec.window_h,
                spec.window_w);
  return std::make_unique<CpuPool>(spec);
}

}  // namespace tandem
