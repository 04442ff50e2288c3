#include "comm/paced_communicator.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "comm/short_sleep.h"
#include "core/error.h"
#include "device/cpu/cpu_stream.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

class PacedCommunicator final : public Communicator {
 public:
  PacedCommunicator(std::unique_ptr<Communicator> inner, LinkModel link)
      : inner_(std::move(inner)), link_(link) {
    TANDEM_EXPECT(link.bus_gbit_per_s > 0.0 && link.latency_us >= 0.0,
                  "a paced link needs a bandwidth above 0 and a latency of at least 0, got {}",
                  describe(link));
  }

  Rank rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }

  void all_reduce_sum(TensorView inout, Stream& stream) override {
    pace(CollectiveKind::AllReduce, inout, stream, [&] { inner_->all_reduce_sum(inout, stream); });
  }
  void reduce_scatter_sum(TensorView all, Stream& stream) override {
    pace(CollectiveKind::ReduceScatter, all, stream, [&] { inner_->reduce_scatter_sum(all, stream); });
  }
  void all_gather(TensorView all, Stream& stream) override {
    pace(CollectiveKind::AllGather, all, stream, [&] { inner_->all_gather(all, stream); });
  }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    pace(CollectiveKind::Broadcast, inout, stream, [&] { inner_->broadcast(inout, root, stream); });
  }

  void label_next(std::string_view label) override { next_label_ = label; }
  void throw_if_failed() override { inner_->throw_if_failed(); }
  std::string description() const override {
    return fmt::format("{}, paced to {}", inner_->description(), describe(link_));
  }

 private:
  template <class Enqueue>
  void pace(CollectiveKind kind, const TensorView& tensor, Stream& stream, const Enqueue& enqueue) {
    const auto label = std::exchange(next_label_, {});
    const auto begin = std::make_shared<Clock::time_point>();
    inner_->label_next(label.empty() ? "arrival" : label + ", arrival");
    inner_->all_reduce_sum(TensorView(&arrivals_, DType::I32, Shape{1}), stream);
    as_cpu(stream).enqueue([begin] { *begin = Clock::now(); });
    inner_->label_next(label);
    enqueue();
    const auto lasts = modelled_time(link_, kind, tensor.bytes(), world_size());
    as_cpu(stream).enqueue([begin, lasts] {
      take_short_sleeps();
      std::this_thread::sleep_until(*begin + lasts);
    });
  }

  const std::unique_ptr<Communicator> inner_;
  const LinkModel link_;
  std::string next_label_;
  std::int32_t arrivals_ = 0;  // on every rank, so that its sum is too
};

}  // namespace

std::unique_ptr<Communicator> make_paced_communicator(std::unique_ptr<Communicator> inner, LinkModel link) {
  return std::make_unique<PacedCommunicator>(std::move(inner), link);
}

}  // namespace tandem
