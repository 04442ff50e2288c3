// emulated_link_bench: does an emulated all-reduce last as long as the link's formula says?
//
//   ./emulated_link_bench > emulated_link.json
//
// Exits with 1 if one differs by more than 3 %, or 5 us where that is more.
//
// For both presets, 2 and 8 ranks and several sizes: latency + 2 (n-1)/n bytes / bandwidth beside the time
// from one all-reduce to the next, of kInARow alone on the GPU between two CUDA events, the median of
// kRounds. In a row, since a single one would be measured with what the host needs to launch it, as
// nccl-tests' are not.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "comm/cuda/emulated_communicator.h"
#include "core/error.h"
#include "device/cuda/cuda_device.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWarmup = 3;
constexpr int kRounds = 21;
constexpr int kInARow = 10;
constexpr double kTolerance = 0.03;
constexpr double kToleranceMs = 0.005;

double median_ms(CudaDevice& device, Communicator& communicator, TensorView tensor, Stream& stream) {
  const auto begin = device.make_event(EventUse::Timing);
  const auto end = device.make_event(EventUse::Timing);
  std::vector<double> rounds;
  for (int round = 0; round < kWarmup + kRounds; ++round) {
    stream.record(*begin);
    for (int i = 0; i < kInARow; ++i) communicator.all_reduce_sum(tensor, stream);
    stream.record(*end);
    stream.synchronize();
    if (round >= kWarmup) rounds.push_back(device.elapsed_ms(*begin, *end) / kInARow);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

Json measure(CudaDevice& device, EmulatedPath path, int ranks, const Buffer& memory, Stream& stream) {
  const auto link = measured_link(path, ranks);
  const auto communicator = make_emulated_communicator(device, link);
  Json rows = Json::array();
  for (std::int64_t bytes = 128 << 10; bytes <= memory.bytes().value(); bytes *= 4) {
    const auto tensor = memory.view(ByteCount(0), DType::BF16, {bytes / 2});
    const auto formula =
        std::chrono::duration<double, std::milli>(
            modelled_time(link.model, CollectiveKind::AllReduce, ByteCount(bytes), link.ranks))
            .count();
    const auto measured = median_ms(device, *communicator, tensor, stream);
    rows.push_back({{"bytes", bytes},
                    {"formula_ms", formula},
                    {"measured_ms", measured},
                    {"excess", measured / formula - 1.0},
                    {"holds", std::abs(measured - formula) <= std::max(kTolerance * formula, kToleranceMs)}});
  }
  return {{"link", link.name},
          {"ranks", link.ranks},
          {"latency_us", link.model.latency_us},
          {"gbit_per_s", link.model.bus_gbit_per_s},
          {"blocks", link.ctas},
          {"all_reduce", rows}};
}

int run() {
  CudaDevice device({});
  const auto stream = device.make_stream(StreamRole::Communication);
  const Buffer memory(device.memory(), ByteCount(128 << 20));
  stream->zero(memory.data(), memory.bytes());
  Json links = Json::array();
  for (const auto path : {EmulatedPath::Peer, EmulatedPath::HostStaged}) {
    for (const int ranks : {2, 8}) links.push_back(measure(device, path, ranks, memory, *stream));
  }
  std::puts(Json{{"device", device.name()}, {"rounds", kRounds}, {"links", links}}.dump(2).c_str());
  for (const auto& link : links)
    for (const auto& row : link["all_reduce"])
      if (!row["holds"].get<bool>()) return 1;
  return 0;
}

}  // namespace
}  // namespace tandem

int main() {
  try {
    return tandem::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
