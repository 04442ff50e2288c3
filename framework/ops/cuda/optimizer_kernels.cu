// A block has one chunk of the whole array, a thread one pack of it (or, where range and pointers are not
// aligned to packs, every 256th element). A pack that a segment cuts goes element by element.
#include <algorithm>

#include "ops/cuda/optimizer_kernels.h"
#include "ops/cuda/packs.cuh"

namespace tandem {
namespace {

constexpr int kThreads = 256;
static_assert(kUpdateChunk == static_cast<std::int64_t>(kThreads) * kPackWidth);

// What is the same for all elements of an SGD step.
struct Sgd {
  static constexpr bool kSecondState = false;
  SgdFactors factors;

  struct Step {
    float gradient_scale, learning_rate;
  };
  __device__ Step step(const StepPointers& pointers) const {
    const TrainingState& training = *pointers.training;
    return {training.clip_factor / training.loss_scale, pointers.inputs->learning_rate};
  }
  __device__ bool has_first_state() const { return factors.momentum > 0.0f; }
  __device__ void update(const Step& step, float decay, float gradient, float& weight, float& velocity,
                         float&) const {
    const float descent = gradient * step.gradient_scale + weight * decay;
    velocity = velocity * factors.momentum + descent;
    weight -= step.learning_rate * (factors.nesterov ? descent + factors.momentum * velocity : velocity);
  }
};

struct AdamW {
  static constexpr bool kSecondState = true;
  AdamWFactors factors;

  struct Step {
    float gradient_scale, learning_rate;
    float corrected_rate;             // learning rate / c1
    float inverse_second_correction;  // 1 / sqrt(c2)
  };
  // In double: early on, 1 - beta2^t would lose most of its digits in fp32.
  __device__ Step step(const StepPointers& pointers) const {
    const TrainingState& training = *pointers.training;
    const auto t = static_cast<double>(training.applied_steps + 1);
    const double first_correction = 1.0 - pow(static_cast<double>(factors.beta1), t);
    const double second_correction = 1.0 - pow(static_cast<double>(factors.beta2), t);
    const float learning_rate = pointers.inputs->learning_rate;
    return {training.clip_factor / training.loss_scale, learning_rate,
            static_cast<float>(static_cast<double>(learning_rate) / first_correction),
            static_cast<float>(1.0 / sqrt(second_correction))};
  }
  __device__ bool has_first_state() const { return true; }
  __device__ void update(const Step& step, float decay, float scaled_gradient, float& weight, float& first,
                         float& second) const {
    const float gradient = scaled_gradient * step.gradient_scale;
    first = factors.beta1 * first + (1.0f - factors.beta1) * gradient;
    second = factors.beta2 * second + (1.0f - factors.beta2) * (gradient * gradient);
    weight = weight * (1.0f - step.learning_rate * decay) -
             step.corrected_rate * first / (sqrtf(second) * step.inverse_second_correction + factors.epsilon);
  }
};

// Loads N neighbours, updates them, stores them. `at` counts in packs from the range's first element.
template <int N, class Rule>
__device__ void update_pack(const Rule& rule, const typename Rule::Step& step, const UpdateArrays& arrays,
                            std::int64_t at, float decay) {
  float gradient[N], weight[N], first[N] = {}, second[N] = {};
  load_floats(arrays.gradient.data, arrays.gradient.dtype, at, gradient);
  to_floats(load_pack<float, N>(arrays.master, at), weight);
  if (rule.has_first_state()) to_floats(load_pack<float, N>(arrays.state[0], at), first);
  if constexpr (Rule::kSecondState) to_floats(load_pack<float, N>(arrays.state[1], at), second);
#pragma unroll
  for (int j = 0; j < N; ++j) rule.update(step, decay, gradient[j], weight[j], first[j], second[j]);
  store_pack(arrays.master, at, from_floats<float>(weight));
  if (rule.has_first_state()) store_pack(arrays.state[0], at, from_floats<float>(first));
  if constexpr (Rule::kSecondState) store_pack(arrays.state[1], at, from_floats<float>(second));
  if (arrays.working.data != nullptr) store_floats(arrays.working.data, arrays.working.dtype, at, weight);
}

// The segment that holds element `at` of the whole array or, between two, the next. Null behind the last.
struct SegmentWalk {
  const SegmentTable& table;
  std::int32_t index;

  __device__ SegmentWalk(const SegmentTable& of, std::int64_t chunk)
      : table(of), index(of.first_of_chunk[chunk]) {}
  __device__ const DeviceSegment* find(std::int64_t at) {
    while (index < table.segment_count && table.segments[index].end <= at) ++index;
    return index < table.segment_count ? &table.segments[index] : nullptr;
  }
};

template <int N, class Rule>
__global__ void __launch_bounds__(kThreads)
    update_chunk_per_block(SegmentTable table, UpdateArrays arrays, Rule rule, StepPointers pointers) {
  __shared__ typename Rule::Step shared_step;
  if (pointers.training->finite == 0) return;
  if (threadIdx.x == 0) shared_step = rule.step(pointers);
  __syncthreads();
  const auto step = shared_step;
  const std::int64_t chunk = arrays.first / kUpdateChunk + blockIdx.x;
  const std::int64_t range_end = arrays.first + arrays.count;
  SegmentWalk walk(table, chunk);
#pragma unroll 1
  for (int turn = 0; turn < kPackWidth / N; ++turn) {
    const std::int64_t at =
        chunk * kUpdateChunk + (static_cast<std::int64_t>(turn) * kThreads + threadIdx.x) * N;
    const DeviceSegment* segment = walk.find(at);
    if (segment == nullptr) return;
    if (at >= segment->begin && at + N <= segment->end && at >= arrays.first && at + N <= range_end) {
      update_pack<N>(rule, step, arrays, (at - arrays.first) / N, segment->weight_decay);
    } else if constexpr (N > 1) {
      for (std::int64_t element = max(at, arrays.first); element < min(at + N, range_end); ++element) {
        segment = walk.find(element);
        if (segment == nullptr) return;
        if (element < segment->begin) continue;
        update_pack<1>(rule, step, arrays, element - arrays.first, segment->weight_decay);
      }
    }
  }
}

bool whole_packs(const UpdateArrays& arrays) {
  constexpr std::size_t kBytes = sizeof(float) * kPackWidth;  // enough for 16-bit arrays too
  return arrays.first % kPackWidth == 0 && aligned(arrays.master, kBytes) &&
         aligned(arrays.working.data, kBytes) && aligned(arrays.gradient.data, kBytes) &&
         aligned(arrays.state[0], kBytes) && aligned(arrays.state[1], kBytes);
}

template <class Rule>
cudaError_t launch_update(const SegmentTable& table, const UpdateArrays& arrays, const Rule& rule,
                          StepPointers step, cudaStream_t stream) {
  const std::int64_t first = arrays.first / kUpdateChunk;
  const std::int64_t end =
      std::min((arrays.first + arrays.count + kUpdateChunk - 1) / kUpdateChunk, table.chunks);
  if (end <= first) return cudaSuccess;  // padding only
  return with_width(whole_packs(arrays) ? kPackWidth : 1, [&](auto width) {
    update_chunk_per_block<width(), Rule>
        <<<static_cast<unsigned int>(end - first), kThreads, 0, stream>>>(table, arrays, rule, step);
    return cudaGetLastError();
  });
}

}  // namespace

cudaError_t launch_sgd(const SegmentTable& table, const UpdateArrays& arrays, const SgdFactors& factors,
                       StepPointers step, cudaStream_t stream) {
  return launch_update(table, arrays, Sgd{factors}, step, stream);
}

cudaError_t launch_adamw(const SegmentTable& table, const UpdateArrays& arrays, const AdamWFactors& factors,
                         StepPointers step, cudaStream_t stream) {
  return launch_update(table, arrays, AdamW{factors}, step, stream);
}

}  // namespace tandem
