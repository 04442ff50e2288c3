#include "probe/cuda_probe.h"

#include <cuda_runtime.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "comm/cuda/nccl_communicator.h"
#include "core/error.h"
#include "device/cuda/cuda_check.h"
#include "machine/gpu_probe.h"
#include "probe/peer_kernels.h"

namespace tandem {
namespace {

// Memory and a stream of one GPU, which is current whenever something is enqueued there.
class Lane {
 public:
  Lane(int ordinal, std::int64_t bytes) : ordinal_(ordinal), bytes_(bytes) {
    use();
    void* memory = nullptr;
    TANDEM_CUDA(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
    memory_ = static_cast<std::uint32_t*>(memory);
    TANDEM_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TANDEM_CUDA(cudaEventCreate(&begin_));
    TANDEM_CUDA(cudaEventCreate(&end_));
  }
  ~Lane() {
    TANDEM_CUDA_REPORT(cudaSetDevice(ordinal_));
    TANDEM_CUDA_REPORT(cudaEventDestroy(end_));
    TANDEM_CUDA_REPORT(cudaEventDestroy(begin_));
    TANDEM_CUDA_REPORT(cudaStreamDestroy(stream_));
    TANDEM_CUDA_REPORT(cudaFree(memory_));
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void use() const { TANDEM_CUDA(cudaSetDevice(ordinal_)); }
  void finish() const { TANDEM_CUDA(cudaStreamSynchronize(stream_)); }
  void start_clock() const { TANDEM_CUDA(cudaEventRecord(begin_, stream_)); }
  void stop_clock() const { TANDEM_CUDA(cudaEventRecord(end_, stream_)); }
  double elapsed_s() const {  // after finish()
    float ms = 0;
    TANDEM_CUDA(cudaEventElapsedTime(&ms, begin_, end_));
    return ms / 1e3;
  }

  int ordinal() const { return ordinal_; }
  std::uint32_t* memory() const { return memory_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t words() const { return bytes_ / 4; }
  cudaStream_t stream() const { return stream_; }

 private:
  int ordinal_;
  std::int64_t bytes_;
  std::uint32_t* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

constexpr int kTurns = 16;
constexpr std::uint32_t kNothing = 0;

bool peer_access(int from, int to) {
  int possible = 0;
  TANDEM_CUDA(cudaDeviceCanAccessPeer(&possible, from, to));
  if (possible == 0) return false;
  TANDEM_CUDA(cudaSetDevice(from));
  const auto status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // it stays behind otherwise
    return true;
  }
  TANDEM_CUDA(status);
  return true;
}

// "" if the memory holds the pattern of `seed`.
std::string mistake_in(const Lane& lane, std::uint32_t seed) {
  std::vector<std::uint32_t> found(static_cast<std::size_t>(lane.words()));
  lane.use();
  TANDEM_CUDA(cudaMemcpy(found.data(), lane.memory(), static_cast<std::size_t>(lane.bytes()),
                         cudaMemcpyDeviceToHost));
  std::int64_t wrong = 0;
  std::int64_t nothing = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == pattern_word(i, seed)) continue;
    ++wrong;
    if (found[i] == kNothing) ++nothing;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} words are wrong{}", wrong, found.size(),
                     nothing == wrong ? ", all of them zero" : "");
}

void copy_by_engine(const Lane& from, const Lane& to) {
  TANDEM_CUDA(cudaMemcpyPeerAsync(to.memory(), to.ordinal(), from.memory(), from.ordinal(),
                                  static_cast<std::size_t>(from.bytes()), from.stream()));
}

void copy_by_kernel(const Lane& from, const Lane& to) {
  launch_copy(to.memory(), from.memory(), from.words(), from.stream());
  TANDEM_CUDA(cudaGetLastError());
}

// Writes a pattern on `from`, lets `copy` bring it to `to`, and looks there.
template <class Copy>
std::string check_data(const Lane& from, const Lane& to, std::uint32_t seed, Copy copy) {
  to.use();
  TANDEM_CUDA(cudaMemset(to.memory(), kNothing, static_cast<std::size_t>(to.bytes())));
  TANDEM_CUDA(cudaDeviceSynchronize());
  from.use();
  launch_write_pattern(from.memory(), from.words(), seed, from.stream());
  copy(from, to);
  from.finish();
  return mistake_in(to, seed);
}

template <class Copy>
double one_way_gb_per_s(const Lane& from, const Lane& to, Copy copy) {
  from.use();
  copy(from, to);  // the first sets mappings up
  from.start_clock();
  for (int turn = 0; turn < kTurns; ++turn) copy(from, to);
  from.stop_clock();
  from.finish();
  return static_cast<double>(from.bytes()) * kTurns / from.elapsed_s() / 1e9;
}

// The slower direction's clock covers both.
double both_ways_gb_per_s(const Lane& out_from, const Lane& out_to, const Lane& back_from,
                          const Lane& back_to) {
  for (const auto* lane : {&out_from, &back_from}) {
    lane->use();
    lane->start_clock();
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    copy_by_engine(out_from, out_to);
    copy_by_engine(back_from, back_to);
  }
  for (const auto* lane : {&out_from, &back_from}) {
    lane->use();
    lane->stop_clock();
  }
  out_from.finish();
  back_from.finish();
  const double seconds = std::max(out_from.elapsed_s(), back_from.elapsed_s());
  return 2.0 * static_cast<double>(out_from.bytes()) * kTurns / seconds / 1e9;
}

PeerTest test_pair(std::pair<int, int> ordinals, std::pair<int, int> names, const PeerTestOptions& options) {
  PeerTest test{.from = names.first, .to = names.second};
  test.access = peer_access(ordinals.first, ordinals.second);
  const Lane from(ordinals.first, options.bytes);
  const Lane to(ordinals.second, options.bytes);
  const auto seed = static_cast<std::uint32_t>(1 + ordinals.first * 64 + ordinals.second);
  // Without access the copy engine goes through host memory, and must be right all the same.
  test.wrong = check_data(from, to, seed, copy_by_engine);
  if (test.wrong.empty() && test.access) {
    test.wrong = check_data(from, to, seed + 7, copy_by_kernel);
    if (!test.wrong.empty()) test.wrong += ", written by a kernel";
  }
  if (!test.wrong.empty()) return test;
  test.gb_per_s = one_way_gb_per_s(from, to, copy_by_engine);
  if (!options.all_ways) return test;
  if (test.access) test.sm_gb_per_s = one_way_gb_per_s(from, to, copy_by_kernel);
  peer_access(ordinals.second, ordinals.first);
  const Lane back_from(ordinals.second, options.bytes);
  const Lane back_to(ordinals.first, options.bytes);
  test.both_gb_per_s = both_ways_gb_per_s(from, to, back_from, back_to);
  return test;
}

// The driver's index of a GPU, which CUDA_VISIBLE_DEVICES does not change; CUDA's if the driver tells none.
const Gpu* driver_gpu(const Host& host, int ordinal) {
  std::array<char, 32> address{};
  TANDEM_CUDA(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), ordinal));
  std::string pci(address.data());
  std::ranges::transform(pci, pci.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::ranges::find(host.gpus, pci, &Gpu::pci);
  return found == host.gpus.end() ? nullptr : &*found;
}

int name_of_gpu(const Host& host, int ordinal) {
  const auto* gpu = driver_gpu(host, ordinal);
  return gpu == nullptr ? ordinal : gpu->index;
}

double host_copy_gb_per_s(const Lane& lane, void* host_memory, cudaMemcpyKind kind) {
  void* to = kind == cudaMemcpyHostToDevice ? static_cast<void*>(lane.memory()) : host_memory;
  const void* from = kind == cudaMemcpyHostToDevice ? host_memory : static_cast<void*>(lane.memory());
  lane.use();
  lane.start_clock();
  for (int turn = 0; turn < kTurns; ++turn)
    TANDEM_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(lane.bytes()), kind, lane.stream()));
  lane.stop_clock();
  lane.finish();
  return static_cast<double>(lane.bytes()) * kTurns / lane.elapsed_s() / 1e9;
}

// Asks the driver for the link's state while copies are on their way.
PcieUnderLoad test_pcie(int ordinal, const Host& host, std::int64_t bytes) {
  PcieUnderLoad result{.gpu = name_of_gpu(host, ordinal)};
  const Lane lane(ordinal, bytes);
  void* memory = nullptr;
  TANDEM_CUDA(cudaMallocHost(&memory, static_cast<std::size_t>(bytes)));
  result.to_device_gb_per_s = host_copy_gb_per_s(lane, memory, cudaMemcpyHostToDevice);
  result.to_host_gb_per_s = host_copy_gb_per_s(lane, memory, cudaMemcpyDeviceToHost);
  constexpr int kLoad = 256;  // copies of 64 MiB: a third of a second on PCIe 5 x16
  for (int turn = 0; turn < kLoad; ++turn)
    TANDEM_CUDA(cudaMemcpyAsync(lane.memory(), memory, static_cast<std::size_t>(bytes),
                                cudaMemcpyHostToDevice, lane.stream()));
  Host now;
  probe_gpus(now);
  if (const auto* gpu = driver_gpu(now, ordinal)) {
    result.generation = gpu->pcie.generation;
    result.width = gpu->pcie.width;
  }
  lane.finish();
  TANDEM_CUDA(cudaFreeHost(memory));
  return result;
}

std::string path_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::string cuda_text(int code) {
  return fmt::format("{}.{}", code / 1000, code % 1000 / 10);
}

}  // namespace

bool cuda_is_built() {
  return true;
}

std::vector<LibraryVersion> cuda_libraries() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const auto nccl = nccl_versions();
  const auto cudnn = static_cast<int>(cudnnGetVersion());
  return {{.name = "CUDA runtime", .header = cuda_text(CUDART_VERSION), .loaded = cuda_text(runtime)},
          {.name = "cuDNN",
           .header = fmt::format("{}.{}.{}", CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL),
           .loaded = fmt::format("{}.{}.{}", cudnn / 10000, cudnn / 100 % 100, cudnn % 100),
           .path = path_of(reinterpret_cast<const void*>(&cudnnGetVersion))},
          {.name = "NCCL",
           .header = nccl.header,
           .loaded = nccl.library,
           .path = nccl.path,
           .copies = nccl.copies}};
}

void test_peers(const PeerTestOptions& options, const std::function<void(const std::string&)>& say) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess) gpus = 0;
  Host host;
  probe_gpus(host);
  for (int ordinal = 0; ordinal < gpus; ++ordinal) {
    const int name = name_of_gpu(host, ordinal);
    say(begin_line(fmt::format("GPU {} and host memory", name)));
    say(line_of(test_pcie(ordinal, host, options.bytes)));
  }
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      const std::pair names(name_of_gpu(host, from), name_of_gpu(host, to));
      say(begin_line(fmt::format("GPU {} to GPU {}", names.first, names.second)));
      say(line_of(test_pair({from, to}, names, options)));
    }
  }
  say(end_line());
}

}  // namespace tandem
