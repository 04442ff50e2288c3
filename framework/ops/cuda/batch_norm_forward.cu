#include "ops/cuda/batch_norm_sweep.cuh"

namespace tandem {
namespace {

using namespace batch_norm;

// Sums of x - shift and of its square, where the shift is the first row: no digits are lost however far the
// mean is from zero.
template <class T, int N>
__global__ void __launch_bounds__(kThreads, kResidentBlocks<T>)
    sum_channels_per_thread(const T* x, Tiling tiling, float* partial) {
  constexpr int kRows = kRowsInFlight<T, 4>;
  const Place place(tiling);
  float sums[2][N] = {};  // of differences, of their squares
  if (place.active) {
    float shift[N];
    to_floats(load_pack<T, N>(x, place.pack), shift);
    Pack<T, N> packs[kRows];
    sweep<kRows, true>(
        tiling, place, [&](int u, std::int64_t i) { packs[u] = load_pack<T, N>(x, i); },
        [&](int u, std::int64_t) {
#pragma unroll
          for (int j = 0; j < N; ++j) {
            const float apart = to_float(packs[u].value[j]) - shift[j];
            sums[0][j] += apart;
            sums[1][j] += apart * apart;
          }
        });
  }
  leave_partials(tiling, place, sums, partial);
}

template <class T>
__global__ void finish_statistics_channel_per_column(NormStatisticsPass pass, std::int64_t rows,
                                                     std::int64_t C, int partials) {
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kFinishColumns + threadIdx.x;
  const bool inside = channel < C;
  const double sum = sum_partials(pass.partial_sums, partials, 2 * C, channel, inside);
  const double squares = sum_partials(pass.partial_sums, partials, 2 * C, C + channel, inside);
  if (!inside || threadIdx.y != 0) return;
  const auto n = static_cast<double>(rows);
  const double apart = sum / n;
  const double mean = static_cast<double>(to_float(static_cast<const T*>(pass.x)[channel])) + apart;
  double variance = squares / n - apart * apart;
  if (variance < 0.0) variance = 0.0;  // not fmax, which would hide a NaN
  pass.mean[channel] = static_cast<float>(mean);
  pass.inverse_deviation[channel] =
      static_cast<float>(1.0 / sqrt(variance + static_cast<double>(pass.epsilon)));
  const float keep = 1.0f - pass.momentum;
  pass.running_mean[channel] = keep * pass.running_mean[channel] + pass.momentum * static_cast<float>(mean);
  pass.running_variance[channel] =
      keep * pass.running_variance[channel] + pass.momentum * static_cast<float>(variance * (n / (n - 1.0)));
}

template <class T, int N, bool kRelu, bool kResidual>
__global__ void __launch_bounds__(kThreads, kResidentBlocks<T>)
    apply_channels_per_thread(NormApplyPass pass, Tiling tiling) {
  constexpr int kRows = kRowsInFlight<T, (kResidual ? 2 : 4)>;
  const Place place(tiling);
  if (!place.active) return;
  const Affine<N> affine(pass.affine, static_cast<std::int64_t>(place.pack) * N);
  Pack<T, N> xs[kRows], residuals[kRows];
  sweep<kRows, false>(
      tiling, place,
      [&](int u, std::int64_t i) {
        xs[u] = load_pack_once<T, N>(static_cast<const T*>(pass.x), i);
        if constexpr (kResidual) residuals[u] = load_pack_once<T, N>(static_cast<const T*>(pass.residual), i);
      },
      [&](int u, std::int64_t i) {
        float y[N];
        unsigned int passed = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
          float z = affine(j, to_float(xs[u].value[j]));
          if constexpr (kResidual) z += to_float(residuals[u].value[j]);
          const bool passes = !kRelu || passes_relu(z);
          passed |= (passes ? 1u : 0u) << j;
          y[j] = passes ? z : 0.0f;
        }
        store_pack(static_cast<T*>(pass.y), i, from_floats<T>(y));
        if constexpr (kResidual) {
          if (pass.mask != nullptr) pass.mask[i] = static_cast<std::uint8_t>(passed);
        }
      });
}

}  // namespace

std::int64_t norm_mask_bytes(const NormShape& shape) {
  return shape.rows * (shape.C / pack_width(shape.C));
}

std::int64_t norm_partial_floats(const NormShape& shape) {
  return partials_of(shape) * 2 * shape.C;
}

cudaError_t launch_norm_statistics(const NormShape& shape, const NormStatisticsPass& pass,
                                   cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    sum_channels_per_thread<T, width()><<<grid_of(shape, tiling), kThreads, 0, stream>>>(
        static_cast<const T*>(pass.x), tiling, pass.partial_sums);
    finish_statistics_channel_per_column<T>
        <<<finish_grid(shape), kFinishBlock, 0, stream>>>(pass, shape.rows, shape.C, partials_of(shape));
    return cudaGetLastError();
  });
}

cudaError_t launch_norm_apply(const NormShape& shape, const NormApplyPass& pass, cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  const dim3 grid = grid_of(shape, tiling);
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    if (pass.residual != nullptr) {
      apply_channels_per_thread<T, width(), true, true><<<grid, kThreads, 0, stream>>>(pass, tiling);
    } else if (pass.relu) {
      apply_channels_per_thread<T, width(), true, false><<<grid, kThreads, 0, stream>>>(pass, tiling);
    } else {
      apply_channels_per_thread<T, width(), false, false><<<grid, kThreads, 0, stream>>>(pass, tiling);
    }
    return cudaGetLastError();
  });
}

}  // namespace tandem
