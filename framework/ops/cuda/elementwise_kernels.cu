#include "ops/cuda/elementwise_kernels.h"

#include <algorithm>

#include "core/rng.h"
#include "ops/cuda/packs.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    add_pack_per_thread(const T* first, const T* second, T* y, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  float a[N], b[N];
  to_floats(load_pack<T, N>(first, i), a);
  to_floats(load_pack<T, N>(second, i), b);
#pragma unroll
  for (int j = 0; j < N; ++j) a[j] += b[j];
  store_pack(y, i, from_floats<T>(a));
}

constexpr int kWordsPerBlock = 4;  // random words of one Philox block

// A thread has as many whole Philox blocks as its N elements take. N is kWordsPerBlock where samples are no
// whole packs; then elements go one by one.
template <class T, int N, bool kWholePacks>
__global__ void __launch_bounds__(kThreads)
    drop_elements_per_thread(DropoutShape shape, T* x, const std::int64_t* positions, std::int64_t per_sample,
                             float kept_scale) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t sample = i / per_sample;
  if (sample >= shape.samples) return;
  const std::int64_t first = (i - sample * per_sample) * N;
  T* elements = x + sample * shape.elements_per_sample + first;
  const int count = static_cast<int>(min(static_cast<std::int64_t>(N), shape.elements_per_sample - first));
  const PhiloxKey key = philox_key(shape.seed, RandomUse::Dropout, shape.layer);
  const auto position = static_cast<std::uint64_t>(positions[sample]);
  Pack<T, N> pack;
  if constexpr (kWholePacks) {
    pack = load_pack<T, N>(elements, 0);
  } else {
    for (int j = 0; j < count; ++j) pack.value[j] = elements[j];
  }
#pragma unroll
  for (int block = 0; block < N / kWordsPerBlock; ++block) {
    const Philox4 random = philox(key, position, static_cast<std::uint64_t>(first / kWordsPerBlock + block));
#pragma unroll
    for (int word = 0; word < kWordsPerBlock; ++word) {
      T& element = pack.value[block * kWordsPerBlock + word];
      const bool dropped = uniform01(random.word[word]) < shape.probability;
      element = from_float<T>(dropped ? 0.0f : to_float(element) * kept_scale);
    }
  }
  if constexpr (kWholePacks) {
    store_pack(elements, 0, pack);
  } else {
    for (int j = 0; j < count; ++j) elements[j] = pack.value[j];
  }
}

// A block first tabulates what each byte becomes in each channel, then strides over the output: a thread
// writes N neighbours, whatever pixels they belong to. So the divisions cost nothing and the bits are the
// CPU's.
constexpr int kBytes = 256;

// A pixel of the stored image.
struct StoredPixel {
  std::int64_t image;
  int row, column;

  __device__ StoredPixel(const ImageShape& shape, std::int64_t index) {
    const std::int64_t line = index / shape.stored_columns;
    column = static_cast<int>(index - line * shape.stored_columns);
    image = line / shape.stored_rows;
    row = static_cast<int>(line - image * shape.stored_rows);
  }
  __device__ void advance(const ImageShape& shape) {
    if (++column < shape.stored_columns) return;
    column = 0;
    if (++row < shape.stored_rows) return;
    row = 0;
    ++image;
  }
  // The number of the image's pixel that lies at `place` in a block of kBlock x kBlock; -1 for padding.
  template <int kBlock>
  __device__ std::int64_t image_pixel(const ImageShape& shape, int place) const {
    const int h = row * kBlock + place / kBlock - shape.padding;
    const int w = column * kBlock + place % kBlock - shape.padding;
    if (place >= kBlock * kBlock || h < 0 || h >= shape.H || w < 0 || w >= shape.W) return -1;
    return (image * shape.H + h) * shape.W + w;
  }
};

template <class T, int N, int kBlock>
__global__ void __launch_bounds__(kThreads)
    normalize_outputs_per_thread(ImageShape shape, const std::uint8_t* images, T* y, std::int64_t packs) {
  __shared__ float table[4][kBytes];
  for (int c = 0; c < shape.C; ++c) {
    for (int byte = static_cast<int>(threadIdx.x); byte < kBytes; byte += kThreads) {
      table[c][byte] = (static_cast<float>(byte) / 255.0f - shape.mean[c]) / shape.deviation[c];
    }
  }
  __syncthreads();
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < packs;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    StoredPixel pixel(shape, i * N / shape.stored);
    int channel = static_cast<int>(i * N % shape.stored);
    int place = channel / shape.C, c = channel - place * shape.C;
    float values[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const std::int64_t at = pixel.image_pixel<kBlock>(shape, place);
      values[j] = at >= 0 ? table[c][images[at * shape.C + c]] : 0.0f;
      if (++c == shape.C) {
        c = 0;
        ++place;
      }
      if (++channel == shape.stored) {
        channel = place = c = 0;
        pixel.advance(shape);
      }
    }
    store_pack(y, i, from_floats<T>(values));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    zero_padding_one_per_thread(BlockedFilter filter, T* gradient, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count && !filter.is_weight(i)) gradient[i] = from_float<T>(0.0f);
}

}  // namespace

cudaError_t launch_add(const void* first, const void* second, Floats y, std::int64_t count,
                       cudaStream_t stream) {
  return with_float_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    constexpr std::size_t kBytesOfPack = sizeof(T) * kPackWidth;
    const bool whole =
        aligned(first, kBytesOfPack) && aligned(second, kBytesOfPack) && aligned(y.data, kBytesOfPack);
    return with_width(whole ? pack_width(count) : 1, [&](auto width) {
      const std::int64_t packs = count / width();
      add_pack_per_thread<T, width()><<<blocks_for(packs, kThreads), kThreads, 0, stream>>>(
          static_cast<const T*>(first), static_cast<const T*>(second), static_cast<T*>(y.data), packs);
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_dropout(const DropoutShape& shape, void* x, const std::int64_t* positions,
                           cudaStream_t stream) {
  const float kept_scale = 1.0f / (1.0f - shape.probability);
  return with_float_type(shape.dtype, [&](auto type) {
    using T = decltype(type);
    auto* elements = static_cast<T*>(x);
    if (shape.elements_per_sample % kPackWidth == 0 && aligned(x, sizeof(T) * kPackWidth)) {
      const std::int64_t per_sample = shape.elements_per_sample / kPackWidth;
      drop_elements_per_thread<T, kPackWidth, true>
          <<<blocks_for(shape.samples * per_sample, kThreads), kThreads, 0, stream>>>(
              shape, elements, positions, per_sample, kept_scale);
    } else {
      const std::int64_t per_sample = (shape.elements_per_sample + kWordsPerBlock - 1) / kWordsPerBlock;
      drop_elements_per_thread<T, kWordsPerBlock, false>
          <<<blocks_for(shape.samples * per_sample, kThreads), kThreads, 0, stream>>>(
              shape, elements, positions, per_sample, kept_scale);
    }
    return cudaGetLastError();
  });
}

cudaError_t launch_image_normalize(const ImageShape& shape, const std::uint8_t* images, void* y,
                                   cudaStream_t stream) {
  constexpr int kBlocks = 8;  // per multiprocessor: enough to fill it
  return with_float_type(shape.dtype, [&](auto type) {
    using T = decltype(type);
    const std::int64_t count = shape.N * shape.stored_rows * shape.stored_columns * shape.stored;
    return with_width(pack_width(count), [&](auto width) {
      const std::int64_t packs = count / width();
      const auto blocks =
          std::min(blocks_for(packs, kThreads), static_cast<unsigned int>(shape.multiprocessors * kBlocks));
      auto* to = static_cast<T*>(y);
      if (shape.in_blocks) {
        normalize_outputs_per_thread<T, width(), static_cast<int>(BlockedFilter::kBlock)>
            <<<blocks, kThreads, 0, stream>>>(shape, images, to, packs);
      } else {
        normalize_outputs_per_thread<T, width(), 1>
            <<<blocks, kThreads, 0, stream>>>(shape, images, to, packs);
      }
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_zero_padding(const BlockedFilter& filter, Floats gradient, cudaStream_t stream) {
  return with_float_type(gradient.dtype, [&](auto type) {
    using T = decltype(type);
    const std::int64_t count = filter.stored().elements().value();
    zero_padding_one_per_thread<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(
        filter, static_cast<T*>(gradient.data), count);
    return cudaGetLastError();
  });
}

}  // namespace tandem
