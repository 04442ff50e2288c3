// Each pass sweeps the outputs as batch_norm_sweep.cuh says, a pack of channels of one output per thread at a
// time. Forward, windows overlap: what a neighbour has read is in the cache. Backward, a thread has the four
// pixels of the output's patch and reads the four windows that cover them.
#include "ops/cuda/norm_max_pool_kernels.h"

#include "ops/cuda/batch_norm_sweep.cuh"

namespace tandem {
namespace {

using namespace batch_norm;

constexpr int kWindow = 3;
constexpr int kStride = 2;
constexpr std::uint8_t kNobody = kWindow * kWindow;

// The output of a pack, from the pack's number.
struct Output {
  int n, p, q;

  __device__ Output(const NormMaxPoolShape& shape, const Tiling& tiling, std::int64_t number) {
    const auto index = static_cast<unsigned int>(number) / static_cast<unsigned int>(tiling.packs);
    const auto line = index / static_cast<unsigned int>(shape.Q);
    q = static_cast<int>(index - line * static_cast<unsigned int>(shape.Q));
    n = static_cast<int>(line / static_cast<unsigned int>(shape.P));
    p = static_cast<int>(line) - n * shape.P;
  }
};

// The number of a pixel's first pack. There are fewer than 2^31 elements.
__device__ inline int pixel_pack(const NormMaxPoolShape& shape, const Tiling& tiling, int n, int h, int w) {
  return ((n * shape.H + h) * shape.W + w) * tiling.packs;
}

// A NaN passes ReLU and wins over everything, so that it is seen.
template <class T, int N>
__global__ void __launch_bounds__(kThreads, kResidentOfLarge)
    apply_output_pack_per_thread(NormMaxPoolShape shape, NormMaxPoolApplyPass pass, Tiling tiling) {
  const Place place(tiling);
  if (!place.active) return;
  const Affine<N> affine(pass.affine, static_cast<std::int64_t>(place.pack) * N);
  const auto* x = static_cast<const T*>(pass.x) + static_cast<std::int64_t>(place.pack) * N;
  Pack<T, N> pixels[kWindow][kWindow];
  bool inside[kWindow][kWindow];
  sweep<1, false>(
      tiling, place,
      [&](int, std::int64_t i) {
        const Output out(shape, tiling, i);
#pragma unroll
        for (int r = 0; r < kWindow; ++r) {
#pragma unroll
          for (int s = 0; s < kWindow; ++s) {
            const int h = kStride * out.p - 1 + r, w = kStride * out.q - 1 + s;
            inside[r][s] = h >= 0 && h < shape.H && w >= 0 && w < shape.W;
            if (inside[r][s]) pixels[r][s] = load_pack<T, N>(x, pixel_pack(shape, tiling, out.n, h, w));
          }
        }
      },
      [&](int, std::int64_t i) {
        float best[N] = {};
        Pack<std::uint8_t, N> winner;
#pragma unroll
        for (int j = 0; j < N; ++j) winner.value[j] = kNobody;
#pragma unroll
        for (int r = 0; r < kWindow; ++r) {
#pragma unroll
          for (int s = 0; s < kWindow; ++s) {
            if (!inside[r][s]) continue;
#pragma unroll
            for (int j = 0; j < N; ++j) {
              const float z = affine(j, to_float(pixels[r][s].value[j]));
              const bool wins = z > best[j] || z != z;
              best[j] = wins ? z : best[j];
              winner.value[j] = wins ? static_cast<std::uint8_t>(r * kWindow + s) : winner.value[j];
            }
          }
        }
        store_pack(static_cast<T*>(pass.y), i, from_floats<T>(best));
        if (pass.winners != nullptr) store_pack(pass.winners, i, winner);
      });
}

// A patch of 2 x 2 pixels with the gradients at their z.
template <class T, int N>
struct Patch {
  bool inside[kStride][kStride];
  Pack<T, N> x[kStride][kStride];
  float dz[kStride][kStride][N];

  // `i`: the number of the output's pack.
  template <bool kTwo, class Pass>
  __device__ void load(const NormMaxPoolShape& shape, const Tiling& tiling, const Pass& pass, int pack,
                       std::int64_t i) {
    const Output out(shape, tiling, i);
    first_pixel_ = pixel_pack(shape, tiling, out.n, kStride * out.p, kStride * out.q) + pack;
    row_ = shape.W * tiling.packs;
    packs_ = tiling.packs;
#pragma unroll
    for (int a = 0; a < kStride; ++a) {
#pragma unroll
      for (int b = 0; b < kStride; ++b) {
        inside[a][b] = kStride * out.p + a < shape.H && kStride * out.q + b < shape.W;
        if (inside[a][b]) x[a][b] = load_pack<T, N>(static_cast<const T*>(pass.x), at(a, b));
#pragma unroll
        for (int j = 0; j < N; ++j) dz[a][b][j] = 0.0f;
      }
    }
#pragma unroll
    for (int below = 0; below < 2; ++below) {
#pragma unroll
      for (int right = 0; right < 2; ++right) {
        if (out.p + below >= shape.P || out.q + right >= shape.Q) continue;
        const int window = static_cast<int>(i) + (below * shape.Q + right) * tiling.packs;
        gather<kTwo>(pass, window, below, right);
      }
    }
  }
  __device__ int at(int a, int b) const {
    return first_pixel_ + a * row_ + b * packs_;
  }

 private:
  // Adds what the window `below` and to the `right` of the patch's own gives to its pixels.
  template <bool kTwo, class Pass>
  __device__ void gather(const Pass& pass, int window, int below, int right) {
    float gradient[N];
    to_floats(load_pack<T, N>(static_cast<const T*>(pass.dy), window), gradient);
    if constexpr (kTwo) {
      const auto second = load_pack<T, N>(static_cast<const T*>(pass.dy_second), window);
#pragma unroll
      for (int j = 0; j < N; ++j) gradient[j] += to_float(second.value[j]);
    }
    const auto winner = load_pack<std::uint8_t, N>(pass.winners, window);
#pragma unroll
    for (int a = 0; a < kStride; ++a) {
#pragma unroll
      for (int b = 0; b < kStride; ++b) {
        // The window begins one pixel before its own patch.
        const int r = a + 1 - kStride * below, s = b + 1 - kStride * right;
        if (r < 0 || s < 0) continue;
#pragma unroll
        for (int j = 0; j < N; ++j) {
          dz[a][b][j] += winner.value[j] == r * kWindow + s ? gradient[j] : 0.0f;
        }
      }
    }
  }

  int first_pixel_, row_, packs_;
};

template <class T, int N, bool kTwo>
__global__ void __launch_bounds__(kThreads, kResidentOfLarge)
    reduce_patch_per_thread(NormMaxPoolShape shape, NormMaxPoolReducePass pass, Tiling tiling) {
  const Place place(tiling);
  float sums[2][N] = {};  // for d_bias, d_scale
  if (place.active) {
    const std::int64_t channel = static_cast<std::int64_t>(place.pack) * N;
    float mean[N];
    load_means(pass.affine, channel, mean);
    Patch<T, N> patch;
    sweep<1, true>(
        tiling, place,
        [&](int, std::int64_t i) { patch.template load<kTwo>(shape, tiling, pass, place.pack, i); },
        [&](int, std::int64_t) {
#pragma unroll
          for (int a = 0; a < kStride; ++a) {
#pragma unroll
            for (int b = 0; b < kStride; ++b) {
              if (!patch.inside[a][b]) continue;
#pragma unroll
              for (int j = 0; j < N; ++j) {
                const float dz = patch.dz[a][b][j];
                sums[0][j] += dz;
                sums[1][j] += dz * (to_float(patch.x[a][b].value[j]) - mean[j]);
              }
            }
          }
        });
  }
  leave_partials(tiling, place, sums, pass.partial_sums);
}

template <class T, int N, bool kTwo>
__global__ void __launch_bounds__(kThreads, kResidentOfLarge)
    input_gradient_patch_per_thread(NormMaxPoolShape shape, NormMaxPoolInputGradientPass pass,
                                    Tiling tiling) {
  const Place place(tiling);
  if (!place.active) return;
  const InputGradient<N> gradient(pass.affine, pass.factors, static_cast<std::int64_t>(place.pack) * N,
                                  shape.C);
  Patch<T, N> patch;
  sweep<1, false>(
      tiling, place,
      [&](int, std::int64_t i) { patch.template load<kTwo>(shape, tiling, pass, place.pack, i); },
      [&](int, std::int64_t) {
#pragma unroll
        for (int a = 0; a < kStride; ++a) {
#pragma unroll
          for (int b = 0; b < kStride; ++b) {
            if (!patch.inside[a][b]) continue;
            float dx[N];
#pragma unroll
            for (int j = 0; j < N; ++j) {
              dx[j] = gradient(j, patch.dz[a][b][j], to_float(patch.x[a][b].value[j]));
            }
            store_pack(static_cast<T*>(pass.dx), patch.at(a, b), from_floats<T>(dx));
          }
        }
      });
}

}  // namespace

std::int64_t norm_max_pool_winner_bytes(const NormMaxPoolShape& shape) {
  return shape.patches().rows * shape.C;
}

std::int64_t norm_max_pool_partial_floats(const NormMaxPoolShape& shape) {
  return static_cast<std::int64_t>(partials_of(shape.patches(), kResidentOfLarge)) * 2 * shape.C;
}

cudaError_t launch_norm_max_pool_apply(const NormMaxPoolShape& shape, const NormMaxPoolApplyPass& pass,
                                       cudaStream_t stream) {
  const NormShape patches = shape.patches();
  const Tiling tiling = tiling_of(patches);
  return with_type_and_width(patches, [&](auto type, auto width) {
    apply_output_pack_per_thread<decltype(type), width()>
        <<<grid_of(patches, tiling, kResidentOfLarge), kThreads, 0, stream>>>(shape, pass, tiling);
    return cudaGetLastError();
  });
}

cudaError_t launch_norm_max_pool_reduce(const NormMaxPoolShape& shape, const NormMaxPoolReducePass& pass,
                                        cudaStream_t stream) {
  const NormShape patches = shape.patches();
  const Tiling tiling = tiling_of(patches);
  const auto reduced = with_type_and_width(patches, [&](auto type, auto width) {
    return with_flag(pass.dy_second != nullptr, [&](auto two) {
      reduce_patch_per_thread<decltype(type), width(), two()>
          <<<grid_of(patches, tiling, kResidentOfLarge), kThreads, 0, stream>>>(shape, pass, tiling);
      return cudaGetLastError();
    });
  });
  if (reduced != cudaSuccess) return reduced;
  return launch_norm_finish(shape.matrix(),
                            {.partial_sums = pass.partial_sums,
                             .partials = partials_of(patches, kResidentOfLarge),
                             .sums = 2,
                             .scale_sum = 1,
                             .affine = pass.affine,
                             .batch_statistics = pass.batch_statistics,
                             .factors = pass.factors,
                             .d_scale = pass.d_scale,
                             .d_bias = pass.d_bias},
                            stream);
}

cudaError_t launch_norm_max_pool_input_gradient(const NormMaxPoolShape& shape,
                                                const NormMaxPoolInputGradientPass& pass,
                                                cudaStream_t stream) {
  const NormShape patches = shape.patches();
  const Tiling tiling = tiling_of(patches);
  return with_type_and_width(patches, [&](auto type, auto width) {
    return with_flag(pass.dy_second != nullptr, [&](auto two) {
      input_gradient_patch_per_thread<decltype(type), width(), two()>
          <<<grid_of(patches, tiling, kResidentOfLarge), kThreads, 0, stream>>>(shape, pass, tiling);
      return cudaGetLastError();
    });
  });
}

}  // namespace tandem
