#include "ops/cuda/tuner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>

#include "core/error.h"
#include "device/cuda/cuda_event.h"
#include "ops/cuda/tuning_kernels.h"

namespace tandem {
namespace {

constexpr ByteCount kOutOfCache{240ll << 20};  // several times the second-level cache
constexpr std::int64_t kMaxCopies = 8;
constexpr std::chrono::milliseconds kMostSampling{250};  // of first samples; candidates come best first
constexpr double kWorthRounds = 1.5;                     // times the best first sample: the rest is out
constexpr int kLeastRounds = 5;
constexpr int kMostRounds = 9;
constexpr double kLoadMs = 40.0;  // of all rounds; longer where the least rounds take longer
constexpr double kRoundMs = 0.5;  // of calls per candidate and round
constexpr int kMaxCalls = 16;
constexpr double kEnqueueMs = 0.01;  // longer than it takes to enqueue one call

constexpr double kOut =
    std::numeric_limits<double>::infinity();  // of a candidate that does not run, or has lost

// Some calls of one candidate, between two marks on the stream.
struct Burst {
  Burst(std::size_t of_candidate, int calls_in_it, int ordinal)
      : candidate(of_candidate),
        calls(calls_in_it),
        begin(ordinal, EventUse::Timing),
        end(ordinal, EventUse::Timing) {}

  std::size_t candidate;
  int calls;
  CudaEvent begin, end;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void* TuningOperands::at(std::size_t operand, int iteration) const {
  const auto& copies = operands_[operand].copies;
  return copies.empty() ? nullptr : copies[static_cast<std::size_t>(iteration) % copies.size()].data();
}

std::unique_ptr<TuningOperands> Tuner::operands(const std::vector<TuningOperands::Operand>& wanted) {
  ByteCount one_set;
  ByteCount shared;
  for (const auto& operand : wanted) (operand.shared ? shared : one_set) += operand.bytes;
  const auto free = device_.memory_info().free;
  const auto fits = [&](std::int64_t copies) {
    return (one_set * copies + shared).value() < free.value() / 10 * 9;
  };
  std::int64_t copies = 1;
  while (copies < kMaxCopies && one_set * copies < kOutOfCache && fits(copies + 1)) ++copies;
  if (!fits(copies)) return nullptr;

  auto result = std::make_unique<TuningOperands>();
  for (const auto& operand : wanted) {
    auto& memory = result->operands_.emplace_back();
    if (operand.bytes == ByteCount(0)) continue;
    for (std::int64_t copy = 0; copy < (operand.shared ? 1 : copies); ++copy) {
      auto& buffer = memory.copies.emplace_back(device_.memory(), operand.bytes);
      stream_.zero(buffer.data(), operand.bytes);
      const bool is_float =
          operand.fill == DType::F32 || operand.fill == DType::BF16 || operand.fill == DType::F16;
      if (operand.shared || !is_float) continue;
      const auto count = operand.bytes.value() / bytes_per_element(operand.fill);
      TANDEM_CUDA(launch_fill_random(buffer.data(), operand.fill, count, 1.0f, stream_.raw()));
    }
  }
  stream_.synchronize();
  return result;
}

double Tuner::first_milliseconds(const std::function<void(int)>& launch) {
  CudaEvent begin(device_.ordinal(), EventUse::Timing);
  CudaEvent end(device_.ordinal(), EventUse::Timing);
  launch(0);  // loads the kernel
  stream_.record(begin);
  launch(1);
  stream_.record(end);
  end.synchronize();
  return device_.elapsed_ms(begin, end);
}

std::vector<double> Tuner::medians(const std::vector<double>& estimates, const Launch& launch) {
  const auto runs = [&](std::size_t candidate) { return estimates[candidate] != kOut; };
  std::vector<int> calls(estimates.size(), 0);
  double round_ms = 0.0;
  for (std::size_t candidate = 0; candidate < estimates.size(); ++candidate) {
    if (!runs(candidate)) continue;
    calls[candidate] = static_cast<int>(std::clamp(kRoundMs / estimates[candidate], 1.0, 1.0 * kMaxCalls));
    round_ms += calls[candidate] * estimates[candidate];
  }
  const double wanted = std::clamp(kLoadMs / round_ms, 1.0 * kLeastRounds, 1.0 * kMostRounds);
  std::deque<Burst> bursts;
  for (int round = 0; round < static_cast<int>(wanted); ++round) {
    for (std::size_t candidate = 0; candidate < estimates.size(); ++candidate) {
      if (!runs(candidate)) continue;
      auto& burst = bursts.emplace_back(candidate, calls[candidate], device_.ordinal());
      // What the GPU would outrun is held back until all of it is enqueued.
      const double lag_ms = burst.calls * (kEnqueueMs - estimates[candidate]);
      if (lag_ms > 0.0) TANDEM_CUDA(launch_spin(static_cast<std::int64_t>(1e3 * lag_ms), stream_.raw()));
      stream_.record(burst.begin);
      for (int call = 0; call < burst.calls; ++call) launch(candidate, call);
      stream_.record(burst.end);
    }
  }
  stream_.synchronize();
  std::vector<std::vector<double>> times(estimates.size());
  for (const auto& burst : bursts) {
    times[burst.candidate].push_back(device_.elapsed_ms(burst.begin, burst.end) / burst.calls);
  }
  std::vector<double> result(estimates.size(), kOut);
  for (std::size_t candidate = 0; candidate < estimates.size(); ++candidate) {
    if (runs(candidate)) result[candidate] = median(times[candidate]);
  }
  return result;
}

std::size_t Tuner::fastest(std::size_t candidates, const Launch& launch) {
  std::vector<double> estimates(candidates, kOut);
  std::string last_failure = "there are none";
  double best = kOut;
  const auto begin = std::chrono::steady_clock::now();
  const auto in_time = [&] { return std::chrono::steady_clock::now() - begin < kMostSampling; };
  for (std::size_t candidate = 0; candidate < candidates && (best == kOut || in_time()); ++candidate) {
    try {
      estimates[candidate] = first_milliseconds([&](int iteration) { launch(candidate, iteration); });
      best = std::min(best, estimates[candidate]);
    } catch (const Error& error) {
      last_failure = error.message();
    }
  }
  TANDEM_EXPECT(best != kOut, "no candidate runs: {}", last_failure);
  for (auto& estimate : estimates) {
    if (estimate > kWorthRounds * best) estimate = kOut;
  }
  const auto times = medians(estimates, launch);
  return static_cast<std::size_t>(std::ranges::min_element(times) - times.begin());
}

}  // namespace tandem
