#include "probe/link_measurement.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "core/error.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kFirstBytes = 8;
constexpr int kLeastIterations = 3;
constexpr int kMostIterations = 1000;
constexpr int kWarmups = 3;
constexpr double kMicro = 1e6;

// Small whole numbers, so that sums over any number of ranks are exact in fp32.
float value_of(std::int64_t element, int rank) {
  constexpr std::int64_t kPeriod = 7;
  return static_cast<float>((element % kPeriod + 1) * (rank + 1));
}

struct Collective {
  const char* name;
  void (Communicator::*enqueue)(TensorView, Stream&);
};

constexpr std::array<Collective, 3> kCollectives = {{{"all_reduce", &Communicator::all_reduce_sum},
                                                     {"reduce_scatter", &Communicator::reduce_scatter_sum},
                                                     {"all_gather", &Communicator::all_gather}}};

class Bench {
 public:
  Bench(const MeasuredLink& link, std::int64_t max_bytes)
      : link_(link),
        rank_(link.ranks.rank().value),
        ranks_(link.ranks.world_size()),
        stream_(link.device.make_stream(StreamRole::Communication)),
        device_memory_(link.memory, ByteCount(max_bytes)),
        host_memory_(link.device.pinned_memory(), ByteCount(max_bytes)) {}

  // The size that is measured in place of `bytes`: the other collectives cut the buffer into equal pieces.
  std::int64_t fitting(const Collective& collective, std::int64_t bytes) const {
    if (collective.enqueue == &Communicator::all_reduce_sum) return bytes;
    const auto piece = kFloatBytes * ranks_;
    return std::max(piece, bytes / piece * piece);
  }

  BenchPoint measure(const Collective& collective, std::int64_t bytes, double seconds) {
    BenchPoint point{.collective = collective.name, .bytes = bytes};
    point.wrong = check(collective, bytes);
    stream_->zero(device_memory_.data(), ByteCount(bytes));
    stream_->synchronize();
    time_s(collective, bytes, kWarmups);
    const double once = time_s(collective, bytes, kLeastIterations);
    point.iterations = std::clamp(static_cast<int>(seconds / once), kLeastIterations, kMostIterations);
    point.time_us = time_s(collective, bytes, point.iterations) * kMicro;
    return point;
  }

  // Each call waits for the end of the one before.
  double single_latency_us(double seconds) {
    const auto& all_reduce = kCollectives.front();
    const double once = time_s(all_reduce, kFirstBytes, kWarmups);
    const int calls = std::clamp(static_cast<int>(seconds / once), 10 * kLeastIterations, kMostIterations);
    std::vector<double> times;
    link_.ranks.barrier();
    for (int call = 0; call < calls; ++call) {
      const auto begin = Clock::now();
      enqueue(all_reduce, kFirstBytes);
      stream_->synchronize();
      times.push_back(std::chrono::duration<double>(Clock::now() - begin).count() * kMicro);
    }
    std::ranges::nth_element(times, times.begin() + calls / 2);
    return mean_over_ranks(times[static_cast<std::size_t>(calls / 2)]);
  }

 private:
  TensorView buffer(std::int64_t bytes) const {
    return device_memory_.view(ByteCount(0), DType::F32, {bytes / kFloatBytes});
  }

  void enqueue(const Collective& collective, std::int64_t bytes) {
    link_.communicator.label_next("bench");
    (link_.communicator.*collective.enqueue)(buffer(bytes), *stream_);
  }

  double mean_over_ranks(double value) { return link_.ranks.sum(std::span(&value, 1))[0] / ranks_; }

  double time_s(const Collective& collective, std::int64_t bytes, int iterations) {
    link_.ranks.barrier();
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) enqueue(collective, bytes);
    stream_->synchronize();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count() / iterations;
    return mean_over_ranks(seconds);
  }

  std::int64_t check(const Collective& collective, std::int64_t bytes) {
    const auto elements = bytes / kFloatBytes;
    auto* host = static_cast<float*>(host_memory_.data());
    for (std::int64_t i = 0; i < elements; ++i) host[i] = value_of(i, rank_);
    stream_->copy(device_memory_.data(), host, ByteCount(bytes));
    enqueue(collective, bytes);
    stream_->copy(host, device_memory_.data(), ByteCount(bytes));
    stream_->synchronize();
    const auto [begin, end] = defined_elements(collective, elements);
    std::int64_t wrong = 0;
    for (auto i = begin; i < end; ++i)
      if (host[i] != expected(collective, i, elements)) ++wrong;
    auto count = static_cast<double>(wrong);
    return static_cast<std::int64_t>(link_.ranks.sum(std::span(&count, 1))[0]);
  }

  // After a reduce-scatter a rank's own piece is defined and no other.
  std::pair<std::int64_t, std::int64_t> defined_elements(const Collective& collective,
                                                         std::int64_t elements) const {
    if (collective.enqueue != &Communicator::reduce_scatter_sum) return {0, elements};
    const auto piece = elements / ranks_;
    return {rank_ * piece, (rank_ + 1) * piece};
  }

  float expected(const Collective& collective, std::int64_t element, std::int64_t elements) const {
    if (collective.enqueue == &Communicator::all_gather)
      return value_of(element, static_cast<int>(element / (elements / ranks_)));
    return value_of(element, 0) * (static_cast<float>(ranks_ * (ranks_ + 1)) / 2.0f);
  }

  MeasuredLink link_;
  const int rank_;
  const int ranks_;
  const std::unique_ptr<Stream> stream_;
  const Buffer device_memory_;
  const Buffer host_memory_;
};

}  // namespace

std::vector<std::int64_t> sizes_to_measure(const MeasurementOptions& options) {
  TANDEM_EXPECT(
      options.factor >= 2 && options.max_bytes >= kFirstBytes && options.max_bytes % kFloatBytes == 0,
      "sizes up to {} bytes by factors of {}", options.max_bytes, options.factor);
  std::vector<std::int64_t> sizes;
  for (auto bytes = kFirstBytes; bytes < options.max_bytes; bytes *= options.factor) sizes.push_back(bytes);
  sizes.push_back(options.max_bytes);
  return sizes;
}

void measure_collectives(const MeasuredLink& link, const MeasurementOptions& options, BenchRun& run) {
  const auto sizes = sizes_to_measure(options);
  // The smallest piece of many ranks may exceed the largest size asked for.
  Bench bench(link, std::max(options.max_bytes, kFloatBytes * link.ranks.world_size()));
  for (const auto& collective : kCollectives) {
    std::int64_t last = 0;
    for (const auto bytes : sizes) {
      const auto fitting = bench.fitting(collective, bytes);
      if (fitting == last) continue;
      last = fitting;
      run.points.push_back(bench.measure(collective, fitting, options.seconds_per_point));
    }
  }
  run.latency_us = bench.single_latency_us(options.seconds_per_point);
  run.rate_per_s = kMicro / run.points.front().time_us;
}

}  // namespace tandem
