// A block has one row. Its threads ask for all of it at once, into shared memory, and add it up pack by pack
// as it arrives, each keeping a running maximum and the sum of exponentials relative to it (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018, algorithm 3); the gradient is made of what
// lies in shared memory. Two blocks fit a multiprocessor, so that one reads while the other computes.
//
// At the speed of memory there are some thirty instructions for each logit. So whatever concerns few logits
// (padding, the target, rivals of the target) is asked once for each pack.
#include <cfloat>
#include <cstdio>

#include "core/targets.h"
#include "ops/cuda/block_sums.cuh"
#include "ops/cuda/packs.cuh"
#include "ops/cuda/shared_memory.cuh"
#include "ops/cuda/softmax_cross_entropy_kernels.h"

namespace tandem {
namespace {

constexpr int kMostThreads = 512;
constexpr float kLog2E = 1.4426950408889634f;

// One instruction of the special function unit; exp2f() would surround it with three for subnormal numbers.
__device__ inline float exp2_of(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// exp(x - largest), as one multiply-add and one instruction of the special function unit.
struct Exponential {
  float offset;
  __device__ explicit Exponential(float largest) : offset(largest * kLog2E) {}
  __device__ float operator()(float x) const { return exp2_of(fmaf(x, kLog2E, -offset)); }
};

struct RowSums {
  // Finite even in units of log 2, so that a difference to a logit of -inf is -inf and not NaN.
  float largest = -FLT_MAX / 2;
  float sum = 0.0f;    // of exp(x - largest)
  float apart = 0.0f;  // of x - x[target]; smoothing only
  int beaten = 0;      // the target, by a larger logit, or by an equal one of a lower class
};

// One row and its target.
template <class T, int N>
struct Row {
  T* logits;
  int packs;
  int whole_packs;  // all of classes; what follows is padding but for `rest` classes in the next pack
  int rest;
  std::int32_t target;
  float of_target;
  bool smoothing;

  __device__ Row(const CrossEntropyShape& shape, T* all_logits)
      : logits(all_logits + blockIdx.x * shape.stride),
        packs(static_cast<int>(shape.stride / N)),
        whole_packs(static_cast<int>(shape.classes / N)),
        rest(static_cast<int>(shape.classes % N)),
        smoothing(shape.label_smoothing > 0.0f) {}

  __device__ int classes_in(int pack) const {
    return pack < whole_packs ? N : (pack == whole_packs ? rest : 0);
  }
};

template <class T, int N>
__device__ inline void add_pack(RowSums& sums, const Row<T, N>& row, int pack, const Pack<T, N>& logits) {
  float x[N];
  to_floats(logits, x);
  if (pack >= row.whole_packs) {
    // Selects and not branches, here and below: a branch around an assignment to x sends x to local memory.
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = j < row.classes_in(pack) ? x[j] : -INFINITY;  // adds and beats nothing
  }
  float largest_of_pack = x[0];
#pragma unroll
  for (int j = 1; j < N; ++j) largest_of_pack = fmaxf(largest_of_pack, x[j]);
  if (largest_of_pack > sums.largest) {
    sums.sum *= exp2_of((sums.largest - largest_of_pack) * kLog2E);
    sums.largest = largest_of_pack;
  }
  const Exponential exponential(sums.largest);
#pragma unroll
  for (int j = 0; j < N; ++j) sums.sum += exponential(x[j]);
  if (largest_of_pack >= row.of_target && sums.beaten == 0) {
    int beaten = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int ties_before = (x[j] == row.of_target) & (pack * N + j < row.target);
      beaten |= (x[j] > row.of_target) | ties_before;
    }
    sums.beaten = beaten;
  }
  if (row.smoothing) {
#pragma unroll
    for (int j = 0; j < N; ++j) sums.apart += j < row.classes_in(pack) ? x[j] - row.of_target : 0.0f;
  }
}

// Packs that a thread asks for together, and how many such batches it is ahead of what it adds. All of them
// are 16 packs, 128 KiB of 16-bit logits for a block.
constexpr int kBatch = 4;
constexpr int kBatchesAhead = 3;

// Closes a group even where there is nothing left to ask for: waiting counts groups.
template <class T, int N>
__device__ inline void request_batch(const Row<T, N>& row, Pack<T, N>* held, int first) {
#pragma unroll
  for (int u = 0; u < kBatch; ++u) {
    const int pack = first + u * static_cast<int>(blockDim.x);
    if (pack < row.packs) copy_pack_async<T, N>(held + pack, row.logits, pack);
  }
  __pipeline_commit();
}

// The thread's share of a row, which stays in `held`.
template <class T, int N>
__device__ inline RowSums add_up_and_hold(const Row<T, N>& row, Pack<T, N>* held) {
  const int threads = static_cast<int>(blockDim.x);
  const int batch = kBatch * threads;
  RowSums sums;
  for (int first = static_cast<int>(threadIdx.x); first < row.packs; first += batch) {
    request_batch(row, held, first + kBatchesAhead * batch);
    __pipeline_wait_prior(kBatchesAhead);
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const int pack = first + u * threads;
      if (pack < row.packs) add_pack(sums, row, pack, load_pack(held[pack]));
    }
  }
  return sums;
}

// The thread's share of a row, left where it is.
template <class T, int N>
__device__ inline RowSums add_up(const Row<T, N>& row) {
  const int threads = static_cast<int>(blockDim.x);
  RowSums sums;
  for (int first = static_cast<int>(threadIdx.x); first < row.packs; first += kBatch * threads) {
    Pack<T, N> loaded[kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const int pack = first + u * threads;
      if (pack < row.packs) loaded[u] = load_pack_once<T, N>(row.logits, pack);
    }
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const int pack = first + u * threads;
      if (pack < row.packs) add_pack(sums, row, pack, loaded[u]);
    }
  }
  return sums;
}

// The whole row's, in every thread.
__device__ inline RowSums combine_row(RowSums mine, bool smoothing) {
  RowSums all;
  all.largest = combine_in_block(mine.largest, Larger{});
  all.sum = combine_in_block(mine.sum * Exponential(all.largest)(mine.largest), Plus{});
  if (smoothing) all.apart = combine_in_block(mine.apart, Plus{});
  all.beaten = __syncthreads_or(mine.beaten);
  return all;
}

__device__ inline RowLoss loss_of(const CrossEntropyShape& shape, const RowSums& row, float of_target) {
  const auto smoothing = static_cast<double>(shape.label_smoothing);
  const auto below = static_cast<double>(of_target) - static_cast<double>(row.largest);
  double expected_logit = below;
  if (smoothing > 0.0) {
    expected_logit += smoothing * static_cast<double>(row.apart) / static_cast<double>(shape.classes);
  }
  return {log(static_cast<double>(row.sum)) - expected_logit, row.beaten == 0 && of_target == row.largest, 1};
}

// d loss / d logit = p - ((1 - s) [target] + s / classes), in place of the logits. `from`: they, or what is
// held of them; each thread meets the packs that it read, so no barrier is needed.
template <class T, int N>
__device__ inline void write_gradient(const CrossEntropyShape& shape, const Row<T, N>& row,
                                      const RowSums& sums, float scale, const Pack<T, N>* from) {
  const float scale_of_exponential = scale / sums.sum;
  const float everywhere = shape.label_smoothing / static_cast<float>(shape.classes) * scale;
  const float at_target = (1.0f - shape.label_smoothing) * scale;
  const Exponential exponential(sums.largest);
  const auto gradient_beside_target = [&](float x) {
    return fmaf(exponential(x), scale_of_exponential, -everywhere);
  };
#pragma unroll 2
  for (int pack = static_cast<int>(threadIdx.x); pack < row.packs; pack += static_cast<int>(blockDim.x)) {
    float x[N];
    to_floats(load_pack(from[pack]), x);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = gradient_beside_target(x[j]);
    if (pack >= row.whole_packs) {
#pragma unroll
      for (int j = 0; j < N; ++j) x[j] = j < row.classes_in(pack) ? x[j] : 0.0f;
    }
    store_pack(row.logits, pack, from_floats<T>(x));
  }
  // After the pack that holds it, by the thread that wrote that.
  if (static_cast<unsigned int>(row.target / N) % blockDim.x == threadIdx.x) {
    row.logits[row.target] = from_float<T>(gradient_beside_target(row.of_target) - at_target);
  }
}

template <class T, int N>
__device__ inline void write_zeros(const Row<T, N>& row) {
  Pack<T, N> zeros;
  for (T& zero : zeros.value) zero = from_float<T>(0.0f);
  for (int pack = static_cast<int>(threadIdx.x); pack < row.packs; pack += static_cast<int>(blockDim.x)) {
    store_pack(row.logits, pack, zeros);
  }
}

template <class T, int N, bool kTrain, bool kShared>
__global__ void __launch_bounds__(kMostThreads, 2)
    cross_entropy_row_per_block(CrossEntropyShape shape, T* logits, const std::int32_t* targets,
                                StepPointers step, RowLoss* row_losses) {
  extern __shared__ uint4 shared_memory[];
  auto* held = reinterpret_cast<Pack<T, N>*>(shared_memory);
  Row<T, N> row(shape, logits);
  if constexpr (kShared) {
    // Before anything that waits for memory.
    for (int batch = 0; batch < kBatchesAhead; ++batch) {
      request_batch(row, held, static_cast<int>(threadIdx.x + batch * kBatch * blockDim.x));
    }
  }
  row.target = targets[blockIdx.x];
  if (row.target == kIgnoredTarget) {
    if constexpr (kShared) __pipeline_wait_prior(0);
    if constexpr (kTrain) write_zeros(row);
    if (threadIdx.x == 0) row_losses[blockIdx.x] = {0.0, 0, 0};
    return;
  }
  if (row.target < 0 || row.target >= shape.classes) {
    if (threadIdx.x == 0) {
      printf("tandem: target %d of row %u is outside [0, %lld)\n", row.target, blockIdx.x,
             static_cast<long long>(shape.classes));
    }
    __trap();
  }
  row.of_target = to_float(row.logits[row.target]);
  RowSums sums;
  if constexpr (kShared) {
    sums = add_up_and_hold(row, held);
  } else {
    sums = add_up(row);
  }
  sums = combine_row(sums, row.smoothing);
  if (threadIdx.x == 0) row_losses[blockIdx.x] = loss_of(shape, sums, row.of_target);
  if constexpr (kTrain) {
    const float scale = step.training->loss_scale / step.inputs->valid_targets;
    write_gradient(shape, row, sums, scale, kShared ? held : reinterpret_cast<const Pack<T, N>*>(row.logits));
  }
}

__global__ void __launch_bounds__(kMostThreads)
    add_up_rows(const RowLoss* row_losses, std::int64_t rows, StepResults* results) {
  double loss = 0.0;
  int correct = 0, valid = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += blockDim.x) {
    loss += row_losses[row].loss;
    correct += row_losses[row].correct;
    valid += row_losses[row].valid;
  }
  loss = combine_in_block(loss, Plus{});
  correct = combine_in_block(correct, Plus{});
  valid = combine_in_block(valid, Plus{});
  if (threadIdx.x != 0) return;
  results->loss_sum += loss;
  results->correct += correct;
  results->valid_targets += valid;
}

std::int64_t row_bytes(const CrossEntropyShape& shape) {
  return shape.stride * bytes_per_element(shape.dtype);
}

bool row_fits(const CrossEntropyShape& shape) {
  return row_bytes(shape) <= shape.shared_bytes;
}

unsigned int threads_for(std::int64_t packs) {
  for (unsigned int threads = 32; threads < kMostThreads; threads *= 2) {
    if (packs <= threads) return threads;
  }
  return kMostThreads;
}

// Calls f(kernel) with the instance for training that holds its row in shared memory.
template <class F>
cudaError_t with_type_and_width(const CrossEntropyShape& shape, F&& f) {
  return with_float_type(shape.dtype, [&](auto type) {
    return with_width(pack_width(shape.stride), [&](auto width) { return f(type, width); });
  });
}

}  // namespace

cudaError_t prepare_cross_entropy(const CrossEntropyShape& shape) {
  if (!row_fits(shape)) return cudaSuccess;
  return with_type_and_width(shape, [&](auto type, auto width) {
    return allow_shared_memory(cross_entropy_row_per_block<decltype(type), width(), true, true>,
                               shape.shared_bytes);
  });
}

cudaError_t launch_cross_entropy(const CrossEntropyShape& shape, void* logits, const std::int32_t* targets,
                                 bool train, StepPointers step, RowLoss* row_losses, cudaStream_t stream) {
  const auto rows = static_cast<unsigned int>(shape.rows);
  return with_type_and_width(shape, [&](auto type, auto width) {
    using T = decltype(type);
    const auto threads = threads_for(shape.stride / width());
    auto* values = static_cast<T*>(logits);
    if (!train) {
      cross_entropy_row_per_block<T, width(), false, false>
          <<<rows, threads, 0, stream>>>(shape, values, targets, step, row_losses);
    } else if (row_fits(shape)) {
      cross_entropy_row_per_block<T, width(), true, true>
          <<<rows, threads, static_cast<std::size_t>(row_bytes(shape)), stream>>>(shape, values, targets,
                                                                                  step, row_losses);
    } else {
      cross_entropy_row_per_block<T, width(), true, false>
          <<<rows, threads, 0, stream>>>(shape, values, targets, step, row_losses);
    }
    add_up_rows<<<1, kMostThreads, 0, stream>>>(row_losses, shape.rows, step.results);
    return cudaGetLastError();
  });
}

}  // namespace tandem
