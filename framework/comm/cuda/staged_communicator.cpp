#include "comm/cuda/staged_communicator.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <string>
#include <utility>

#include "comm/host_collectives.h"
#include "core/error.h"
#include "device/buffer.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"

namespace tandem {
namespace {

constexpr ByteCount kStaging{16 << 20};

struct HostWork {
  std::unique_ptr<MpiWorker::Place> place;
  MpiWorker::Job job;
};

// On CUDA's thread. The worker keeps what was thrown and throws it again from throw_if_failed().
void CUDART_CB run_host_work(void* data) noexcept {
  const std::unique_ptr<HostWork> work(static_cast<HostWork*>(data));
  try {
    work->place->run(work->job);
  } catch (...) {
  }
}

float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
float to_float(__half value) {
  return __half2float(value);
}
void round_to(float value, __nv_bfloat16& result) {
  result = __float2bfloat16_rn(value);
}
void round_to(float value, __half& result) {
  result = __float2half_rn(value);
}

// Sums `values` by way of fp32 in `wide`, which has room for as many numbers.
template <class T, class Sum>
void sum_in_fp32(TensorView values, TensorView wide, const Sum& sum) {
  auto* narrow = static_cast<T*>(values.raw());
  auto* floats = static_cast<float*>(wide.raw());
  const auto count = values.elements().value();
  for (std::int64_t i = 0; i < count; ++i) floats[i] = to_float(narrow[i]);
  sum(wide);
  for (std::int64_t i = 0; i < count; ++i) round_to(floats[i], narrow[i]);
}

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(CudaDevice& device, MpiWorker& worker, std::unique_ptr<HostCollectives> algorithm)
      : worker_(worker),
        algorithm_(std::move(algorithm)),
        staging_(device.pinned_memory(), kStaging),
        wide_(device.pinned_memory(), kStaging + kStaging),
        done_(device.make_event(EventUse::Ordering)) {}

  Rank rank() const override { return worker_.identity().rank; }
  int world_size() const override { return worker_.identity().world_size; }

  void all_reduce_sum(TensorView inout, Stream& stream) override {
    expect_summable(inout);
    const Pieces whole{.first = 0, .pieces = 1};
    enqueue({CollectiveKind::AllReduce, inout, whole, whole}, stream,
            [this](const MpiCalls& mpi, TensorView staged) {
              sum(staged, [&](TensorView values) { algorithm_->all_reduce_sum(mpi, values); });
            });
  }
  void reduce_scatter_sum(TensorView all, Stream& stream) override {
    expect_summable(all);
    enqueue({CollectiveKind::ReduceScatter, all, everybodys(), mine()}, stream,
            [this](const MpiCalls& mpi, TensorView staged) {
              sum(staged, [&](TensorView values) { algorithm_->reduce_scatter_sum(mpi, values); });
            });
  }
  void all_gather(TensorView all, Stream& stream) override {
    enqueue({CollectiveKind::AllGather, all, mine(), everybodys()}, stream,
            [this](const MpiCalls& mpi, TensorView staged) { algorithm_->all_gather(mpi, staged); });
  }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    TANDEM_EXPECT(root.value >= 0 && root.value < world_size(), "rank {} does not exist in a job of {} ranks",
                  root.value, world_size());
    const Pieces whole{.first = 0, .pieces = 1};
    enqueue(
        {CollectiveKind::Broadcast, inout, whole, whole}, stream,
        [this, root](const MpiCalls& mpi, TensorView staged) { algorithm_->broadcast(mpi, staged, root); });
  }

  void label_next(std::string_view label) override { next_label_ = label; }
  void throw_if_failed() override { worker_.throw_if_failed(); }
  std::string description() const override {
    return algorithm_->description() + ", staged through host memory of a shared GPU";
  }

 private:
  // Which of the equal pieces of a tensor cross to the host, or come back.
  struct Pieces {
    int first = 0;
    int pieces = 1;
  };
  struct Transfer {
    CollectiveKind kind;
    TensorView tensor;
    Pieces out;   // to host memory
    Pieces back;  // from host memory
  };
  using Work = std::function<void(const MpiCalls&, TensorView staged)>;

  Pieces mine() const { return {.first = rank().value, .pieces = 1}; }
  Pieces everybodys() const { return {.first = 0, .pieces = world_size()}; }

  // In strips: elements [begin, begin + count) of each piece stand one behind the other in the staging
  // memory.
  void enqueue(const Transfer& transfer, Stream& stream, const Work& work) {
    const auto raw = as_cuda(stream).raw();
    TANDEM_EXPECT(!is_capturing(raw), "collectives staged through host memory cannot be captured in a graph");
    const int pieces = std::max(transfer.out.pieces, transfer.back.pieces);
    const auto& tensor = transfer.tensor;
    TANDEM_EXPECT(tensor.elements().value() % pieces == 0, "{} elements cannot be cut into {} equal pieces",
                  tensor.elements().value(), pieces);
    const auto label = std::exchange(next_label_, {});
    const auto piece = tensor.elements().value() / pieces;
    const auto most = kStaging.value() / bytes_per_element(tensor.dtype()) / pieces;
    TANDEM_EXPECT(most > 0, "{} ranks are too many to share a GPU", pieces);
    stream.wait(*done_);  // the staging memory is free
    for (std::int64_t begin = 0; begin < piece; begin += most) {
      const auto count = std::min(most, piece - begin);
      copy_strips(transfer, transfer.out, {begin, count, piece, pieces}, true, stream);
      const auto staged = staging_.view(ByteCount(0), tensor.dtype(), {count * pieces});
      launch(transfer.kind, label, staged, work, raw);
      copy_strips(transfer, transfer.back, {begin, count, piece, pieces}, false, stream);
    }
    stream.record(*done_);
  }

  struct Strip {
    std::int64_t begin, count, piece;  // elements
    int pieces;
  };
  void copy_strips(const Transfer& transfer, const Pieces& which, const Strip& strip, bool out,
                   Stream& stream) {
    const auto size = bytes_per_element(transfer.tensor.dtype());
    for (int i = which.first; i < which.first + which.pieces; ++i) {
      auto* device = static_cast<char*>(transfer.tensor.raw()) + (i * strip.piece + strip.begin) * size;
      auto* host = static_cast<char*>(staging_.data()) + i * strip.count * size;
      if (out) {
        stream.copy(host, device, ByteCount(strip.count * size));
      } else {
        stream.copy(device, host, ByteCount(strip.count * size));
      }
    }
  }

  void launch(CollectiveKind kind, const std::string& label, TensorView staged, const Work& work,
              cudaStream_t stream) {
    auto host_work = std::make_unique<HostWork>(
        HostWork{.place = worker_.reserve(kind, label, staged.bytes()),
                 .job = [work, staged](const MpiCalls& mpi) { work(mpi, staged); }});
    TANDEM_CUDA(cudaLaunchHostFunc(stream, run_host_work, host_work.get()));
    static_cast<void>(host_work.release());  // run_host_work owns it
  }

  template <class Sum>
  void sum(TensorView staged, const Sum& sum_of) const {
    const auto wide = wide_.view(ByteCount(0), DType::F32, {staged.elements().value()});
    switch (staged.dtype()) {
      case DType::BF16:
        return sum_in_fp32<__nv_bfloat16>(staged, wide, sum_of);
      case DType::F16:
        return sum_in_fp32<__half>(staged, wide, sum_of);
      default:
        return sum_of(staged);
    }
  }

  static void expect_summable(const TensorView& tensor) {
    const auto dtype = tensor.dtype();
    TANDEM_EXPECT(dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::I32,
                  "sums over ranks that share a GPU take f32, bf16, f16 and i32, got {}", name_of(dtype));
  }

  MpiWorker& worker_;
  const std::unique_ptr<HostCollectives> algorithm_;
  const Buffer staging_;
  const Buffer wide_;  // fp32 for as many 16-bit numbers as the staging memory holds
  const std::unique_ptr<Event> done_;
  std::string next_label_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(CudaDevice& device, Comm& comm,
                                                       CommBackend algorithm) {
  TANDEM_EXPECT(comm.worker() != nullptr, "a job of one rank has nothing to stage");
  return std::make_unique<StagedCommunicator>(device, *comm.worker(), make_host_collectives(algorithm));
}

}  // namespace tandem
