#include "comm/cuda/emulated_kernels.h"

namespace tandem {
namespace {

constexpr int kThreads = 512;               // of a block of NCCL's kernels, at the most used sizes
constexpr std::int64_t kChunk = 128 << 10;  // bytes that a block moves between two looks at the clock
constexpr std::int64_t kChunkVectors = kChunk / static_cast<std::int64_t>(sizeof(uint4));

// Vectors that a thread has under way at once: with one, 16 blocks wait for memory for longer than NVLink
// takes.
constexpr int kUnderWay = 8;
static_assert(kChunkVectors % (kThreads * kUnderWay) == 0);

__device__ unsigned long long now_ns() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void stamp_turn(EmulatedClock* clock) {
  *clock = {.turn_ns = now_ns(), .started_ns = ~0ull};
}

// A thread's way through memory, every kThreads-th vector, over and over; divides at its beginning only.
class Cursor {
 public:
  __device__ Cursor(void* memory, std::int64_t bytes, std::int64_t first)
      : memory_(static_cast<uint4*>(memory)),
        vectors_(bytes / static_cast<std::int64_t>(sizeof(uint4))),
        at_(first % vectors_),
        step_(kThreads % vectors_) {}
  __device__ uint4* next() {
    uint4* here = memory_ + at_;
    at_ += step_;
    if (at_ >= vectors_) at_ -= vectors_;
    return here;
  }

 private:
  uint4* memory_;
  std::int64_t vectors_, at_, step_;
};

// Out to host memory and in from it: each byte of a host-staged ring step crosses this GPU's PCIe link twice,
// once each way.
__device__ inline void cross_to_host_and_back(const uint4 (&values)[kUnderWay], Cursor& out, Cursor& in) {
  uint4 back[kUnderWay];
#pragma unroll
  for (int u = 0; u < kUnderWay; ++u) {
    __stcg(out.next(), values[u]);
    back[u] = __ldcg(in.next());
  }
#pragma unroll
  for (int u = 0; u < kUnderWay; ++u) {
    // A use that the compiler cannot drop and that never happens: staging memory never holds this pattern.
    if (back[u].x == 0x7fc0dead && back[u].y == 0x7fc0beef && back[u].z == 1u && back[u].w == 2u) __trap();
  }
}

// The data repeated without end is what the transfer moves; this is its share that begins at vector `first`.
__device__ inline void move_chunk(const EmulatedTransfer& t, std::int64_t first) {
  if (t.bytes < static_cast<std::int64_t>(sizeof(uint4))) return;
  first += static_cast<std::int64_t>(threadIdx.x);
  const bool staged = t.host != nullptr;
  Cursor data(t.data, t.bytes, first);
  Cursor out(t.host, staged ? t.host_bytes : kChunk, first);
  Cursor in(t.host, staged ? t.host_bytes : kChunk, first + t.host_bytes / 2);
  for (int moved = 0; moved < kChunkVectors; moved += kThreads * kUnderWay) {
    uint4* places[kUnderWay];
    uint4 values[kUnderWay];
#pragma unroll
    for (int u = 0; u < kUnderWay; ++u) places[u] = data.next();
#pragma unroll
    for (int u = 0; u < kUnderWay; ++u) values[u] = __ldcg(places[u]);
    if (staged) cross_to_host_and_back(values, out, in);
#pragma unroll
    for (int u = 0; u < kUnderWay; ++u) __stcg(places[u], values[u]);
  }
}

// Block b moves chunks b, b + blocks, …. The bytes set out when the latency is over, counted from the
// collective's turn on the stream since a measured latency has the launch in it, or later, if no
// multiprocessor was free until then; chunk i of n must not be done before (i + 1) / n of the rest of the
// time has passed.
__global__ void __launch_bounds__(kThreads) emulated_transfer(EmulatedTransfer t, EmulatedClock* clock) {
  __shared__ double set_out_ns;  // since the turn
  if (threadIdx.x == 0) {
    atomicMin(&clock->started_ns, now_ns());
    const auto started = atomicAdd(&clock->started_ns, 0ull);
    set_out_ns = fmax(t.latency_ns, static_cast<double>(started - clock->turn_ns));
  }
  __syncthreads();
  const std::int64_t chunks = (t.moved_bytes + kChunk - 1) / kChunk;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    move_chunk(t, chunk * kChunkVectors);
    __syncthreads();
    if (threadIdx.x == 0) {
      const double share = static_cast<double>(chunk + 1) / static_cast<double>(chunks);
      const auto due = clock->turn_ns +
                       static_cast<unsigned long long>(set_out_ns + (t.duration_ns - t.latency_ns) * share);
      while (now_ns() < due) __nanosleep(200);
    }
    __syncthreads();
  }
}

}  // namespace

void launch_emulated_transfer(const EmulatedTransfer& transfer, EmulatedClock* clock, int ctas,
                              cudaStream_t stream) {
  constexpr int kWholeMultiprocessor =
      200 << 10;  // of 227 KB: no compute block with shared memory fits beside it
  cudaFuncSetAttribute(emulated_transfer, cudaFuncAttributeMaxDynamicSharedMemorySize, kWholeMultiprocessor);
  stamp_turn<<<1, 1, 0, stream>>>(clock);
  emulated_transfer<<<ctas, kThreads, kWholeMultiprocessor, stream>>>(transfer, clock);
}

}  // namespace tandem
