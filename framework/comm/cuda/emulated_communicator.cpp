#include "comm/cuda/emulated_communicator.h"

#include "comm/cuda/emulated_kernels.h"
#include "core/error.h"
#include "device/buffer.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"

namespace tandem {
namespace {

constexpr ByteCount kStaging{8 << 20};

class EmulatedCommunicator final : public Communicator {
 public:
  EmulatedCommunicator(CudaDevice& device, const EmulatedLink& link)
      : link_(link), clock_(device.memory(), ByteCount(sizeof(EmulatedClock))) {
    TANDEM_EXPECT(link.ranks >= 2 && link.model.bus_gbit_per_s > 0 && link.ctas >= 1,
                  "an emulated link of {} ranks, {} Gbit/s, {} blocks", link.ranks, link.model.bus_gbit_per_s,
                  link.ctas);
    if (link.path == EmulatedPath::HostStaged) staging_ = Buffer(device.pinned_memory(), kStaging);
  }

  Rank rank() const override { return {}; }
  int world_size() const override { return link_.ranks; }

  void all_reduce_sum(TensorView inout, Stream& stream) override {
    transfer(inout, CollectiveKind::AllReduce, 2.0 * (link_.ranks - 1) / link_.ranks, stream);
  }
  void reduce_scatter_sum(TensorView all, Stream& stream) override {
    transfer(all, CollectiveKind::ReduceScatter, 1.0 * (link_.ranks - 1) / link_.ranks, stream);
  }
  void all_gather(TensorView all, Stream& stream) override {
    transfer(all, CollectiveKind::AllGather, 1.0 * (link_.ranks - 1) / link_.ranks, stream);
  }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    TANDEM_EXPECT(root == Rank{}, "the emulated ranks have nothing to send");
    transfer(inout, CollectiveKind::Broadcast, 1.0, stream);
  }
  void throw_if_failed() override {}
  std::string description() const override {
    return fmt::format("emulated link: {}, {} ranks, {:.0f} GB/s + {:.0f} us, contention not validated",
                       link_.name, link_.ranks, link_.model.bus_gbit_per_s / 8, link_.model.latency_us);
  }

 private:
  void transfer(TensorView tensor, CollectiveKind kind, double moves_per_byte, Stream& stream) {
    const auto bytes = tensor.bytes().value();
    const auto duration = modelled_time(link_.model, kind, tensor.bytes(), link_.ranks);
    launch_emulated_transfer(
        {.data = tensor.raw(),
         .host = staging_.data(),
         .bytes = bytes,
         .host_bytes = staging_.bytes().value(),
         .moved_bytes = static_cast<std::int64_t>(moves_per_byte * static_cast<double>(bytes)),
         .latency_ns = link_.model.latency_us * 1e3,
         .duration_ns = static_cast<double>(duration.count())},
        static_cast<EmulatedClock*>(clock_.data()), link_.ctas, as_cuda(stream).raw());
    TANDEM_CUDA(cudaGetLastError());
  }

  EmulatedLink link_;
  Buffer clock_;
  Buffer staging_;
};

}  // namespace

EmulatedLink measured_link(EmulatedPath path, int ranks) {
  const double further_hops = 2.0 * (ranks - 2);
  if (path == EmulatedPath::HostStaged) {
    return {.name = "pcie",
            .ranks = ranks,
            .model = {.latency_us = 16.0 + 1.0 * further_hops, .bus_gbit_per_s = 28.7 * 8},
            .path = path,
            .ctas = 4};
  }
  return {.name = "nvlink",
          .ranks = ranks,
          .model = {.latency_us = 15.0 + 0.6 * further_hops, .bus_gbit_per_s = 317.0 * 8},
          .path = path,
          .ctas = 16};
}

std::unique_ptr<Communicator> make_emulated_communicator(CudaDevice& device, const EmulatedLink& link) {
  return std::make_unique<EmulatedCommunicator>(device, link);
}

}  // namespace tandem
