// Each pass sweeps as batch_norm_sweep.cuh says.
#include "ops/cuda/dual_batch_norm_kernels.h"

#include "ops/cuda/batch_norm_sweep.cuh"

namespace tandem {
namespace {

using namespace batch_norm;

template <class T, int N>
__global__ void __launch_bounds__(kThreads, kResidentOfLarge)
    apply_both_channels_per_thread(DualNormApplyPass pass, Tiling tiling) {
  constexpr int kRows = kRowsInFlight<T, 3>;
  const Place place(tiling);
  if (!place.active) return;
  const std::int64_t channel = static_cast<std::int64_t>(place.pack) * N;
  const Affine<N> first(pass.affine[0], channel), second(pass.affine[1], channel);
  Pack<T, N> firsts[kRows], seconds[kRows];
  sweep<kRows, false>(
      tiling, place,
      [&](int u, std::int64_t i) {
        firsts[u] = load_pack_once<T, N>(static_cast<const T*>(pass.x[0]), i);
        seconds[u] = load_pack_once<T, N>(static_cast<const T*>(pass.x[1]), i);
      },
      [&](int u, std::int64_t i) {
        float y[N];
        unsigned int passed = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float z = first(j, to_float(firsts[u].value[j])) + second(j, to_float(seconds[u].value[j]));
          const bool passes = passes_relu(z);
          passed |= (passes ? 1u : 0u) << j;
          y[j] = passes ? z : 0.0f;
        }
        store_pack(static_cast<T*>(pass.y), i, from_floats<T>(y));
        if (pass.mask != nullptr) pass.mask[i] = static_cast<std::uint8_t>(passed);
      });
}

// What is in flight of the gradient at z.
template <class T, int N, bool kTwo>
struct GatedGradient {
  Pack<T, N> first, second;
  unsigned int passed;

  template <class Pass>
  __device__ void load(const Pass& pass, std::int64_t i) {
    first = load_pack<T, N>(static_cast<const T*>(pass.dy), i);
    if constexpr (kTwo) second = load_pack<T, N>(static_cast<const T*>(pass.dy_second), i);
    passed = pass.mask[i];
  }
  __device__ float dz(int j) const {
    float sum = to_float(first.value[j]);
    if constexpr (kTwo) sum += to_float(second.value[j]);
    return (passed >> j & 1u) != 0 ? sum : 0.0f;
  }
};

template <class T, int N, bool kTwo>
__global__ void __launch_bounds__(kThreads, kResidentOfLarge)
    reduce_both_channels_per_thread(DualNormReducePass pass, Tiling tiling) {
  constexpr int kRows = kRowsInFlight<T, 2>;
  const Place place(tiling);
  float sums[kDualNormSums][N] = {};
  if (place.active) {
    const std::int64_t channel = static_cast<std::int64_t>(place.pack) * N;
    float mean[kBranches][N];
    load_means(pass.affine[0], channel, mean[0]);
    load_means(pass.affine[1], channel, mean[1]);
    GatedGradient<T, N, kTwo> gradients[kRows];
    Pack<T, N> xs[kRows][kBranches];
    sweep<kRows, true>(
        tiling, place,
        [&](int u, std::int64_t i) {
          gradients[u].load(pass, i);
          xs[u][0] = load_pack<T, N>(static_cast<const T*>(pass.x[0]), i);
          xs[u][1] = load_pack<T, N>(static_cast<const T*>(pass.x[1]), i);
        },
        [&](int u, std::int64_t) {
#pragma unroll
          for (int j = 0; j < N; ++j) {
            const float dz = gradients[u].dz(j);
            sums[0][j] += dz;
            sums[1][j] += dz * (to_float(xs[u][0].value[j]) - mean[0][j]);
            sums[2][j] += dz * (to_float(xs[u][1].value[j]) - mean[1][j]);
          }
        });
  }
  leave_partials(tiling, place, sums, pass.partial_sums);
}

template <class T, int N, bool kTwo>
__global__ void __launch_bounds__(kThreads, kResidentOfLarge)
    both_input_gradients_channels_per_thread(DualNormInputGradientPass pass, Tiling tiling) {
  constexpr int kRows = kRowsInFlight<T, 2>;
  const Place place(tiling);
  if (!place.active) return;
  const std::int64_t channel = static_cast<std::int64_t>(place.pack) * N;
  const std::int64_t C = static_cast<std::int64_t>(tiling.packs) * N;
  const InputGradient<N> first(pass.affine[0], pass.factors[0], channel, C);
  const InputGradient<N> second(pass.affine[1], pass.factors[1], channel, C);
  GatedGradient<T, N, kTwo> gradients[kRows];
  Pack<T, N> xs[kRows][kBranches];
  sweep<kRows, false>(
      tiling, place,
      [&](int u, std::int64_t i) {
        gradients[u].load(pass, i);
        xs[u][0] = load_pack_once<T, N>(static_cast<const T*>(pass.x[0]), i);
        xs[u][1] = load_pack_once<T, N>(static_cast<const T*>(pass.x[1]), i);
      },
      [&](int u, std::int64_t i) {
        float dx[kBranches][N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float dz = gradients[u].dz(j);
          dx[0][j] = first(j, dz, to_float(xs[u][0].value[j]));
          dx[1][j] = second(j, dz, to_float(xs[u][1].value[j]));
        }
        store_pack(static_cast<T*>(pass.dx[0]), i, from_floats<T>(dx[0]));
        store_pack(static_cast<T*>(pass.dx[1]), i, from_floats<T>(dx[1]));
      });
}

}  // namespace

std::int64_t dual_norm_partial_floats(const NormShape& shape) {
  return static_cast<std::int64_t>(partials_of(shape, kResidentOfLarge)) * kDualNormSums * shape.C;
}

cudaError_t launch_dual_norm_apply(const NormShape& shape, const DualNormApplyPass& pass,
                                   cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  return with_type_and_width(shape, [&](auto type, auto width) {
    apply_both_channels_per_thread<decltype(type), width()>
        <<<grid_of(shape, tiling, kResidentOfLarge), kThreads, 0, stream>>>(pass, tiling);
    return cudaGetLastError();
  });
}

cudaError_t launch_dual_norm_reduce(const NormShape& shape, const DualNormReducePass& pass,
                                    cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  const auto reduced = with_type_and_width(shape, [&](auto type, auto width) {
    return with_flag(pass.dy_second != nullptr, [&](auto two) {
      reduce_both_channels_per_thread<decltype(type), width(), two()>
          <<<grid_of(shape, tiling, kResidentOfLarge), kThreads, 0, stream>>>(pass, tiling);
      return cudaGetLastError();
    });
  });
  if (reduced != cudaSuccess) return reduced;
  for (int branch = 0; branch < kBranches; ++branch) {
    const auto finished = launch_norm_finish(shape,
                                             {.partial_sums = pass.partial_sums,
                                              .partials = partials_of(shape, kResidentOfLarge),
                                              .sums = kDualNormSums,
                                              .scale_sum = 1 + branch,
                                              .affine = pass.affine[branch],
                                              .batch_statistics = pass.batch_statistics,
                                              .factors = pass.factors[branch],
                                              .d_scale = pass.d_scale[branch],
                                              .d_bias = pass.d_bias[branch]},
                                             stream);
    if (finished != cudaSuccess) return finished;
  }
  return cudaSuccess;
}

cudaError_t launch_dual_norm_input_gradient(const NormShape& shape, const DualNormInputGradientPass& pass,
                                            cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  return with_type_and_width(shape, [&](auto type, auto width) {
    return with_flag(pass.dy_second != nullptr, [&](auto two) {
      both_input_gradients_channels_per_thread<decltype(type), width(), two()>
          <<<grid_of(shape, tiling, kResidentOfLarge), kThreads, 0, stream>>>(pass, tiling);
      return cudaGetLastError();
    });
  });
}

}  // namespace tandem
