#include "comm/host_communicator.h"

#include <string>
#include <utility>

#include "core/error.h"
#include "device/cpu/cpu_stream.h"

namespace tandem {
namespace {

class HostCommunicator final : public Communicator {
 public:
  HostCommunicator(MpiWorker& worker, std::unique_ptr<HostCollectives> algorithm)
      : worker_(worker), algorithm_(std::move(algorithm)) {}

  Rank rank() const override { return worker_.identity().rank; }
  int world_size() const override { return worker_.identity().world_size; }

  void all_reduce_sum(TensorView inout, Stream& stream) override {
    expect_summable(inout);
    enqueue(CollectiveKind::AllReduce, inout, stream,
            [this, inout](const MpiCalls& mpi) { algorithm_->all_reduce_sum(mpi, inout); });
  }
  void reduce_scatter_sum(TensorView all, Stream& stream) override {
    expect_summable(all);
    expect_pieces(all);
    enqueue(CollectiveKind::ReduceScatter, all, stream,
            [this, all](const MpiCalls& mpi) { algorithm_->reduce_scatter_sum(mpi, all); });
  }
  void all_gather(TensorView all, Stream& stream) override {
    expect_pieces(all);
    enqueue(CollectiveKind::AllGather, all, stream,
            [this, all](const MpiCalls& mpi) { algorithm_->all_gather(mpi, all); });
  }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    TANDEM_EXPECT(root.value >= 0 && root.value < world_size(), "rank {} does not exist in a job of {} ranks",
                  root.value, world_size());
    enqueue(CollectiveKind::Broadcast, inout, stream,
            [this, inout, root](const MpiCalls& mpi) { algorithm_->broadcast(mpi, inout, root); });
  }

  void label_next(std::string_view label) override { next_label_ = label; }
  void throw_if_failed() override { worker_.throw_if_failed(); }
  std::string description() const override { return algorithm_->description(); }

 private:
  void enqueue(CollectiveKind kind, const TensorView& tensor, Stream& stream, MpiWorker::Job job) {
    auto& cpu_stream = as_cpu(stream);
    // Shared only because std::function must be copyable.
    std::shared_ptr place = worker_.reserve(kind, std::exchange(next_label_, {}), tensor.bytes());
    cpu_stream.enqueue([place = std::move(place), job = std::move(job)] { place->run(job); });
  }

  void expect_summable(const TensorView& tensor) const {
    TANDEM_EXPECT(tensor.dtype() == DType::F32 || tensor.dtype() == DType::I32,
                  "sums over CPU ranks take f32 and i32, got {}", name_of(tensor.dtype()));
  }
  void expect_pieces(const TensorView& tensor) const {
    TANDEM_EXPECT(tensor.elements().value() % world_size() == 0,
                  "{} elements cannot be cut into {} equal pieces", tensor.elements().value(), world_size());
  }

  MpiWorker& worker_;
  const std::unique_ptr<HostCollectives> algorithm_;
  std::string next_label_;
};

}  // namespace

std::unique_ptr<Communicator> make_host_communicator(MpiWorker& worker,
                                                     std::unique_ptr<HostCollectives> algorithm) {
  return std::make_unique<HostCommunicator>(worker, std::move(algorithm));
}

}  // namespace tandem
