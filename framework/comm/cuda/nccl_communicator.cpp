#include "comm/cuda/nccl_communicator.h"

#include <dlfcn.h>
#include <nccl.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "comm/cuda/nccl_check.h"
#include "comm/cuda/nccl_memory.h"
#include "comm/cuda/stream_word.h"
#include "comm/stream_flight.h"
#include "core/error.h"
#include "device/buffer.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"

namespace tandem {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return ncclFloat32;
    case DType::BF16:
      return ncclBfloat16;
    case DType::F16:
      return ncclFloat16;
    case DType::I32:
      return ncclInt32;
    case DType::I64:
      return ncclInt64;
    case DType::U8:
      return ncclUint8;
  }
  return ncclUint8;
}

std::size_t count_of(TensorView tensor) {
  return static_cast<std::size_t>(tensor.elements().value());
}

// What joins a communicator to its watchdog: the words that streams write around each collective.
class NcclFlight {
 public:
  NcclFlight(CudaDevice& device) : words_(device.pinned_memory(), ByteCount(2 * sizeof(std::uint32_t))) {
    for (auto* word : {started(), finished()}) *word = 0;
  }

  template <class Enqueue>
  void around(StreamFlight::Call call, cudaStream_t stream, const Enqueue& enqueue) {
    const auto number = calls_.enqueue(std::move(call), is_capturing(stream));
    write_word(stream, started(), number);
    enqueue();
    write_word(stream, finished(), number);
  }

  // `finished` first: a collective that ends in between then still counts as running, and not the next as
  // having run all the time.
  void look() {
    const auto done = std::atomic_ref(*finished()).load(std::memory_order_acquire);
    const auto begun = std::atomic_ref(*started()).load(std::memory_order_acquire);
    calls_.look(begun, done, StreamFlight::Clock::now());
  }
  const StreamFlight& calls() const { return calls_; }

 private:
  std::uint32_t* started() const { return static_cast<std::uint32_t*>(words_.data()); }
  std::uint32_t* finished() const { return started() + 1; }

  Buffer words_;
  StreamFlight calls_;
};

class NcclCommunicator final : public Communicator, private Watched {
 public:
  NcclCommunicator(CudaDevice& device, RankGroup& group, Watchdog& watchdog, const NcclOptions& options)
      : rank_(group.rank()),
        world_size_(group.world_size()),
        timeout_(options.timeout),
        watchdog_(watchdog),
        flight_(device) {
    expect_usable_nccl(nccl_versions());
    ncclUniqueId id{};
    if (group.is_root()) TANDEM_NCCL(ncclGetUniqueId(&id));
    const auto shared = group.broadcast(std::string(id.internal, sizeof(id.internal)), Rank{0});
    std::memcpy(id.internal, shared.data(), sizeof(id.internal));

    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (options.max_ctas > 0) config.maxCTAs = options.max_ctas;
    TANDEM_CUDA(cudaSetDevice(device.ordinal()));
    TANDEM_NCCL(ncclCommInitRankConfig(&comm_, world_size_, id, rank_.value, &config));
    try {
      poll("ncclCommInitRankConfig");
      watchdog_.watch(*this);
    } catch (...) {
      ncclCommAbort(comm_);
      throw;
    }
  }

  // A communicator that failed, or whose peers are gone, cannot be finalized: that would wait for them.
  ~NcclCommunicator() override {
    watchdog_.unwatch();
    ncclResult_t state = ncclSuccess;
    const bool healthy = ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclSuccess;
    if (!healthy || std::uncaught_exceptions() > 0) {
      TANDEM_NCCL_REPORT(ncclCommAbort(comm_));
      return;
    }
    if (ncclCommFinalize(comm_) == ncclInProgress) {
      const auto deadline = std::chrono::steady_clock::now() + timeout_;
      while (ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclInProgress &&
             std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    TANDEM_NCCL_REPORT(ncclCommDestroy(comm_));
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  Rank rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  ncclComm_t raw() const { return comm_; }

  void all_reduce_sum(TensorView inout, Stream& stream) override {
    enqueue(CollectiveKind::AllReduce, inout, stream, [&](cudaStream_t raw) {
      TANDEM_NCCL(ncclAllReduce(inout.raw(), inout.raw(), count_of(inout), nccl_type(inout.dtype()), ncclSum,
                                comm_, raw));
    });
  }
  void reduce_scatter_sum(TensorView all, Stream& stream) override {
    enqueue(CollectiveKind::ReduceScatter, all, stream, [&](cudaStream_t raw) {
      TANDEM_NCCL(ncclReduceScatter(all.raw(), piece(all), piece_count(all), nccl_type(all.dtype()), ncclSum,
                                    comm_, raw));
    });
  }
  void all_gather(TensorView all, Stream& stream) override {
    enqueue(CollectiveKind::AllGather, all, stream, [&](cudaStream_t raw) {
      TANDEM_NCCL(ncclAllGather(piece(all), all.raw(), piece_count(all), nccl_type(all.dtype()), comm_, raw));
    });
  }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    enqueue(CollectiveKind::Broadcast, inout, stream, [&](cudaStream_t raw) {
      TANDEM_NCCL(ncclBroadcast(inout.raw(), inout.raw(), count_of(inout), nccl_type(inout.dtype()),
                                root.value, comm_, raw));
    });
  }

  void label_next(std::string_view label) override { next_label_ = label; }
  void throw_if_failed() override { poll("asynchronous work"); }
  std::string description() const override { return "nccl"; }

 private:
  void enqueue(CollectiveKind kind, TensorView tensor, Stream& stream,
               const std::function<void(cudaStream_t)>& call) {
    const auto raw = as_cuda(stream).raw();
    flight_.around({kind, std::exchange(next_label_, {}), tensor.bytes()}, raw, [&] {
      call(raw);
      poll(name_of(kind));
    });
  }

  std::size_t piece_count(TensorView all) const {
    TANDEM_EXPECT(all.elements().value() % world_size_ == 0, "{} elements do not divide among {} ranks",
                  all.elements().value(), world_size_);
    return count_of(all) / static_cast<std::size_t>(world_size_);
  }
  void* piece(TensorView all) const {
    const auto bytes = all.bytes().value() / world_size_;
    return static_cast<char*>(all.raw()) + bytes * rank_.value;
  }

  // Until NCCL has done its host-side part of the call, which is most often at once.
  void poll(std::string_view call) {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    ncclResult_t state = ncclInProgress;
    while (true) {
      TANDEM_NCCL(ncclCommGetAsyncError(comm_, &state));
      if (state == ncclSuccess) return;
      if (state != ncclInProgress) break;
      TANDEM_EXPECT(std::chrono::steady_clock::now() < deadline,
                    "{} is not done after {} s: a peer is missing", call,
                    std::chrono::duration<double>(timeout_).count());
      std::this_thread::yield();
    }
    throw Error("NCCL", std::string(call),
                fmt::format("{}: {}", ncclGetErrorString(state), ncclGetLastError(comm_)));
  }

  // On the watchdog's thread, which NCCL allows for these two calls.
  std::optional<std::string> look(std::chrono::milliseconds timeout) override {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state != ncclSuccess &&
        state != ncclInProgress) {
      return fmt::format("NCCL failed in the background: {}: {}", ncclGetErrorString(state),
                         ncclGetLastError(comm_));
    }
    flight_.look();
    const auto running = flight_.calls().running_for(StreamFlight::Clock::now());
    if (!running || *running <= timeout) return std::nullopt;
    return fmt::format("a collective on the GPU did not finish within {:g} s; ending the job",
                       std::chrono::duration<double>(timeout).count());
  }
  std::string describe_pending() const override {
    return flight_.calls().describe(StreamFlight::Clock::now());
  }
  void abort() noexcept override { TANDEM_NCCL_REPORT(ncclCommAbort(comm_)); }

  Rank rank_;
  int world_size_;
  std::chrono::milliseconds timeout_;
  Watchdog& watchdog_;
  NcclFlight flight_;
  std::string next_label_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

NcclRanks make_nccl_ranks(CudaDevice& device, RankGroup& group, Watchdog& watchdog,
                          const NcclOptions& options) {
  auto communicator = std::make_unique<NcclCommunicator>(device, group, watchdog, options);
  auto memory = std::make_unique<NcclAllocator>(device.ordinal(),
                                                options.register_memory ? communicator->raw() : nullptr);
  return {.communicator = std::move(communicator), .gradient_memory = std::move(memory)};
}

NcclVersions nccl_versions() {
  int code = 0;
  TANDEM_NCCL(ncclGetVersion(&code));
  Dl_info info{};
  const bool found =
      dladdr(reinterpret_cast<void*>(&ncclGetVersion), &info) != 0 && info.dli_fname != nullptr;
  std::ifstream maps("/proc/self/maps");
  return {.header = nccl_version_text(NCCL_VERSION_CODE),
          .library = nccl_version_text(code),
          .path = found ? info.dli_fname : "unknown",
          .copies = mapped_nccl_copies(maps)};
}

}  // namespace tandem
