#include "ops/cuda/batch_norm_sweep.cuh"

namespace tandem {
namespace {

using namespace batch_norm;

// How the gradient at z follows from dy.
enum class Gate { None, ByInput, ByMask };

template <class T, int N, Gate kGate, bool kTwo>
__global__ void __launch_bounds__(kThreads, kResidentBlocks<T>)
    reduce_channels_per_thread(NormReducePass pass, Tiling tiling) {
  constexpr int kRows = kRowsInFlight<T, 2>;
  const Place place(tiling);
  float sums[2][N] = {};  // for d_bias, d_scale
  if (place.active) {
    const Affine<N> affine(pass.affine, static_cast<std::int64_t>(place.pack) * N);
    Pack<T, N> firsts[kRows], seconds[kRows], xs[kRows];
    unsigned int passed[kRows];
    sweep<kRows, true>(
        tiling, place,
        [&](int u, std::int64_t i) {
          firsts[u] = load_pack<T, N>(static_cast<const T*>(pass.dy), i);
          if constexpr (kTwo) seconds[u] = load_pack<T, N>(static_cast<const T*>(pass.dy_second), i);
          if constexpr (kGate == Gate::ByMask) passed[u] = pass.mask[i];
          xs[u] = load_pack<T, N>(static_cast<const T*>(pass.x), i);
        },
        [&](int u, std::int64_t i) {
          float dz[N];
#pragma unroll
          for (int j = 0; j < N; ++j) {
            const float x = to_float(xs[u].value[j]);
            dz[j] = to_float(firsts[u].value[j]);
            if constexpr (kTwo) dz[j] += to_float(seconds[u].value[j]);
            if constexpr (kGate == Gate::ByInput) dz[j] = passes_relu(affine(j, x)) ? dz[j] : 0.0f;
            if constexpr (kGate == Gate::ByMask) dz[j] = (passed[u] >> j & 1u) != 0 ? dz[j] : 0.0f;
            sums[0][j] += dz[j];
            sums[1][j] += dz[j] * (x - affine.mean[j]);
          }
          if constexpr (kGate == Gate::ByMask) {
            store_pack(static_cast<T*>(pass.d_residual), i, from_floats<T>(dz));
          }
        });
  }
  leave_partials(tiling, place, sums, pass.partial_sums);
}

// d_bias and d_scale, and the factors of
//   dx = multiplier * (dz - d_bias / rows - xhat * d_scale / rows),  xhat = (x - mean) / deviation
__global__ void finish_reduce_channel_per_column(NormFinish finish, std::int64_t rows, std::int64_t C) {
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kFinishColumns + threadIdx.x;
  const bool inside = channel < C;
  const std::int64_t stride = finish.sums * C;
  const std::int64_t column_of_x = finish.scale_sum * C + channel;
  const double d_bias = sum_partials(finish.partial_sums, finish.partials, stride, channel, inside);
  const double d_xhat = sum_partials(finish.partial_sums, finish.partials, stride, column_of_x, inside);
  if (!inside || threadIdx.y != 0) return;
  const float inverse = inverse_deviation_of(finish.affine, channel);
  const float multiplier = finish.affine.scale[channel] * inverse;
  const double d_scale = d_xhat * static_cast<double>(inverse);
  const double per_row = -static_cast<double>(multiplier) / static_cast<double>(rows);
  float* factors = finish.factors + channel;
  const bool varies = finish.batch_statistics;
  factors[0] = varies ? static_cast<float>(per_row * d_scale * static_cast<double>(inverse)) : 0.0f;
  factors[C] = varies ? static_cast<float>(per_row * d_bias) : 0.0f;
  put_gradient(finish.d_scale, channel, static_cast<float>(d_scale));
  put_gradient(finish.d_bias, channel, static_cast<float>(d_bias));
}

template <class T, int N, bool kRelu, bool kTwo>
__global__ void __launch_bounds__(kThreads, kResidentBlocks<T>)
    input_gradient_channels_per_thread(NormInputGradientPass pass, Tiling tiling) {
  constexpr int kRows = kRowsInFlight<T, 2>;
  const Place place(tiling);
  if (!place.active) return;
  const std::int64_t channel = static_cast<std::int64_t>(place.pack) * N;
  const std::int64_t C = static_cast<std::int64_t>(tiling.packs) * N;
  const Affine<N> affine(pass.affine, channel);
  float of_x[N], constant[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    of_x[j] = pass.factors[channel + j];
    constant[j] = pass.factors[C + channel + j];
  }
  Pack<T, N> firsts[kRows], seconds[kRows], xs[kRows];
  sweep<kRows, false>(
      tiling, place,
      [&](int u, std::int64_t i) {
        firsts[u] = load_pack_once<T, N>(static_cast<const T*>(pass.dy), i);
        if constexpr (kTwo) seconds[u] = load_pack_once<T, N>(static_cast<const T*>(pass.dy_second), i);
        xs[u] = load_pack_once<T, N>(static_cast<const T*>(pass.x), i);
      },
      [&](int u, std::int64_t i) {
        float dx[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float x = to_float(xs[u].value[j]);
          float dz = to_float(firsts[u].value[j]);
          if constexpr (kTwo) dz += to_float(seconds[u].value[j]);
          if constexpr (kRelu) dz = passes_relu(affine(j, x)) ? dz : 0.0f;
          dx[j] = affine.multiplier[j] * dz + (of_x[j] * (x - affine.mean[j]) + constant[j]);
        }
        store_pack(static_cast<T*>(pass.dx), i, from_floats<T>(dx));
      });
}

}  // namespace

cudaError_t launch_norm_finish(const NormShape& shape, const NormFinish& finish, cudaStream_t stream) {
  finish_reduce_channel_per_column<<<finish_grid(shape), kFinishBlock, 0, stream>>>(finish, shape.rows,
                                                                                    shape.C);
  return cudaGetLastError();
}

cudaError_t launch_norm_reduce(const NormShape& shape, const NormReducePass& pass, cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  const dim3 grid = grid_of(shape, tiling);
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    return with_flag(pass.dy_second != nullptr, [&](auto two) {
      if (pass.mask != nullptr) {
        reduce_channels_per_thread<T, width(), Gate::ByMask, two()>
            <<<grid, kThreads, 0, stream>>>(pass, tiling);
      } else if (pass.relu) {
        reduce_channels_per_thread<T, width(), Gate::ByInput, two()>
            <<<grid, kThreads, 0, stream>>>(pass, tiling);
      } else {
        reduce_channels_per_thread<T, width(), Gate::None, two()>
            <<<grid, kThreads, 0, stream>>>(pass, tiling);
      }
      return launch_norm_finish(shape,
                                {.partial_sums = pass.partial_sums,
                                 .partials = partials_of(shape),
                                 .sums = 2,
                                 .scale_sum = 1,
                                 .affine = pass.affine,
                                 .batch_statistics = pass.batch_statistics,
                                 .factors = pass.factors,
                                 .d_scale = pass.d_scale,
                                 .d_bias = pass.d_bias},
                                stream);
    });
  });
}

cudaError_t launch_norm_input_gradient(const NormShape& shape, const NormInputGradientPass& pass,
                                       cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  const dim3 grid = grid_of(shape, tiling);
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    return with_flag(pass.relu, [&](auto relu) {
      return with_flag(pass.dy_second != nullptr, [&](auto two) {
        input_gradient_channels_per_thread<T, width(), relu(), two()>
            <<<grid, kThreads, 0, stream>>>(pass, tiling);
        return cudaGetLastError();
      });
    });
  });
}

}  // namespace tandem
