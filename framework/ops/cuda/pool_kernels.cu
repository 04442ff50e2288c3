// A thread has one pack of channels of one pixel, of the output forward and of the input backward; channels
// run fastest, so that a warp reads whole lines.
#include "ops/cuda/pool_kernels.h"

#include <limits>

#include "ops/cuda/packs.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;

// A pack of a [N, height, width, packs] image, from its number.
struct Pixel {
  int pack, column, row, image;

  __device__ Pixel(unsigned int index, int packs, int height, int width) {
    pack = static_cast<int>(index % static_cast<unsigned int>(packs));
    index /= static_cast<unsigned int>(packs);
    column = static_cast<int>(index % static_cast<unsigned int>(width));
    index /= static_cast<unsigned int>(width);
    row = static_cast<int>(index % static_cast<unsigned int>(height));
    image = static_cast<int>(index / static_cast<unsigned int>(height));
  }
};

// The part of a window that lies inside the image, along one axis.
struct Range {
  int begin, end;
};
__device__ inline Range inside(int start, int window, int extent) {
  return {max(start, 0), min(start + window, extent)};
}

// The outputs whose windows cover a position, along one axis.
__device__ inline Range covering(int position, int window, int stride, int padding, int outputs) {
  const int last = position + padding;  // where the last such window begins, from the padded edge, at most
  const int first = last - window + 1;
  return {first <= 0 ? 0 : (first + stride - 1) / stride, min(last / stride + 1, outputs)};
}

__device__ inline float share(const PoolShape& shape, int p, int q) {
  const Range rows = inside(p * shape.stride - shape.padding, shape.window_h, shape.H);
  const Range columns = inside(q * shape.stride - shape.padding, shape.window_w, shape.W);
  return 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

// A NaN wins over everything, so that it is seen.
template <class T, int N, class Place>
__global__ void __launch_bounds__(kThreads)
    max_output_pack_per_thread(PoolShape shape, const T* x, T* y, Place* winners, unsigned int count) {
  const unsigned int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int packs = shape.C / N;
  const Pixel out(i, packs, shape.P, shape.Q);
  const int top = out.row * shape.stride - shape.padding, left = out.column * shape.stride - shape.padding;
  const Range rows = inside(top, shape.window_h, shape.H), columns = inside(left, shape.window_w, shape.W);
  float best[N] = {};
  Pack<Place, N> winner;
  bool first = true;
  for (int h = rows.begin; h < rows.end; ++h) {
    for (int w = columns.begin; w < columns.end; ++w) {
      const std::int64_t at = ((static_cast<std::int64_t>(out.image) * shape.H + h) * shape.W + w) * packs;
      const auto pack = load_pack<T, N>(x, at + out.pack);
      const auto place = static_cast<Place>((h - top) * shape.window_w + (w - left));
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const float value = to_float(pack.value[j]);
        const bool wins = first || value > best[j] || value != value;
        best[j] = wins ? value : best[j];
        winner.value[j] = wins ? place : winner.value[j];
      }
      first = false;
    }
  }
  store_pack(y, i, from_floats<T>(best));
  store_pack(winners, i, winner);
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    average_output_pack_per_thread(PoolShape shape, const T* x, T* y, unsigned int count) {
  const unsigned int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int packs = shape.C / N;
  const Pixel out(i, packs, shape.P, shape.Q);
  const Range rows = inside(out.row * shape.stride - shape.padding, shape.window_h, shape.H);
  const Range columns = inside(out.column * shape.stride - shape.padding, shape.window_w, shape.W);
  float sum[N] = {};
  for (int h = rows.begin; h < rows.end; ++h) {
    const std::int64_t row = (static_cast<std::int64_t>(out.image) * shape.H + h) * shape.W;
#pragma unroll 4
    for (int w = columns.begin; w < columns.end; ++w) {
      const auto pack = load_pack<T, N>(x, (row + w) * packs + out.pack);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += to_float(pack.value[j]);
    }
  }
  const float factor = share(shape, out.row, out.column);
#pragma unroll
  for (int j = 0; j < N; ++j) sum[j] *= factor;
  store_pack(y, i, from_floats<T>(sum));
}

// The gradient of one pack of outputs, of one tensor or the sum of two.
template <class T, int N>
__device__ inline void load_gradient(const T* dy, const T* dy_second, std::int64_t index,
                                     float (&values)[N]) {
  to_floats(load_pack<T, N>(dy, index), values);
  if (dy_second == nullptr) return;
  float second[N];
  to_floats(load_pack<T, N>(dy_second, index), second);
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] += second[j];
}

// `winners` is null for averages.
template <class T, int N, class Place, bool kMaximum>
__global__ void __launch_bounds__(kThreads)
    gradient_input_pack_per_thread(PoolShape shape, const T* dy, const T* dy_second, const Place* winners,
                                   T* dx, unsigned int count) {
  const unsigned int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int packs = shape.C / N;
  const Pixel in(i, packs, shape.H, shape.W);
  const Range rows = covering(in.row, shape.window_h, shape.stride, shape.padding, shape.P);
  const Range columns = covering(in.column, shape.window_w, shape.stride, shape.padding, shape.Q);
  float sum[N] = {};
  for (int p = rows.begin; p < rows.end; ++p) {
    for (int q = columns.begin; q < columns.end; ++q) {
      const std::int64_t at =
          ((static_cast<std::int64_t>(in.image) * shape.P + p) * shape.Q + q) * packs + in.pack;
      float gradient[N];
      load_gradient(dy, dy_second, at, gradient);
      if constexpr (kMaximum) {
        const int h = in.row - (p * shape.stride - shape.padding);
        const int w = in.column - (q * shape.stride - shape.padding);
        const auto place = static_cast<Place>(h * shape.window_w + w);
        const auto winner = load_pack<Place, N>(winners, at);
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += winner.value[j] == place ? gradient[j] : 0.0f;
      } else {
        const float factor = share(shape, p, q);
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += factor * gradient[j];
      }
    }
  }
  store_pack(dx, i, from_floats<T>(sum));
}

bool place_fits_a_byte(const PoolShape& shape) {
  return shape.window_h * shape.window_w - 1 <= std::numeric_limits<std::uint8_t>::max();
}

template <class F>
cudaError_t with_place_type(const PoolShape& shape, F&& f) {
  return place_fits_a_byte(shape) ? f(std::uint8_t{}) : f(std::uint16_t{});
}

template <class F>
cudaError_t with_type_and_width(const PoolShape& shape, F&& f) {
  return with_float_type(shape.dtype, [&](auto type) {
    return with_width(pack_width(shape.C), [&](auto width) { return f(type, width); });
  });
}

unsigned int packs_of(const PoolShape& shape, int height, int width, int channels_per_pack) {
  return static_cast<unsigned int>(static_cast<std::int64_t>(shape.N) * height * width * shape.C /
                                   channels_per_pack);
}

}  // namespace

std::int64_t pool_winner_bytes(const PoolShape& shape) {
  if (!shape.maximum) return 0;
  const std::int64_t elements = static_cast<std::int64_t>(shape.N) * shape.P * shape.Q * shape.C;
  return elements * (place_fits_a_byte(shape) ? 1 : 2);
}

cudaError_t launch_pool_forward(const PoolShape& shape, const void* x, void* y, void* winners,
                                cudaStream_t stream) {
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    const auto count = packs_of(shape, shape.P, shape.Q, width());
    const auto blocks = blocks_for(count, kThreads);
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    if (!shape.maximum) {
      average_output_pack_per_thread<T, width()><<<blocks, kThreads, 0, stream>>>(shape, from, to, count);
      return cudaGetLastError();
    }
    return with_place_type(shape, [&](auto place) {
      using Place = decltype(place);
      max_output_pack_per_thread<T, width(), Place>
          <<<blocks, kThreads, 0, stream>>>(shape, from, to, static_cast<Place*>(winners), count);
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_pool_backward(const PoolShape& shape, const void* dy, const void* dy_second,
                                 const void* winners, void* dx, cudaStream_t stream) {
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    const auto count = packs_of(shape, shape.H, shape.W, width());
    const auto blocks = blocks_for(count, kThreads);
    const auto* first = static_cast<const T*>(dy);
    const auto* second = static_cast<const T*>(dy_second);
    auto* to = static_cast<T*>(dx);
    if (!shape.maximum) {
      gradient_input_pack_per_thread<T, width(), std::uint8_t, false>
          <<<blocks, kThreads, 0, stream>>>(shape, first, second, nullptr, to, count);
      return cudaGetLastError();
    }
    return with_place_type(shape, [&](auto place) {
      using Place = decltype(place);
      gradient_input_pack_per_thread<T, width(), Place, true><<<blocks, kThreads, 0, stream>>>(
          shape, first, second, static_cast<const Place*>(winners), to, count);
      return cudaGetLastError();
    });
  });
}

}  // namespace tandem
