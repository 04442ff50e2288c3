#include "train/standalone_bandwidth.h"

#include <algorithm>
#include <vector>

#include "report/step_quantities.h"

namespace tandem {

std::optional<double> measure_bus_gb_per_s(ParameterStore& store, Communicator& communicator, Device& device,
                                           Stream& communication) {
  constexpr int kWarmup = 1;  // the first collective of a size sets its connections up
  constexpr int kRounds = 11;
  if (communicator.world_size() == 1) return std::nullopt;
  const auto begin = device.make_event(EventUse::Timing);
  const auto end = device.make_event(EventUse::Timing);
  std::vector<double> rounds_ms;
  for (int round = 0; round < kWarmup + kRounds; ++round) {
    communication.record(*begin);
    for (const auto& bucket : store.layout().buckets()) {
      communicator.label_next("bandwidth measurement");
      communicator.all_reduce_sum(store.gradients(bucket), communication);
    }
    communication.record(*end);
    communication.synchronize();
    if (round >= kWarmup) rounds_ms.push_back(device.elapsed_ms(*begin, *end));
  }
  std::ranges::nth_element(rounds_ms, rounds_ms.begin() + kRounds / 2);
  const auto bytes = static_cast<double>(store.gradients(store.everything()).bytes().value());
  return all_reduce_bus_gb_per_s(bytes, communicator.world_size(), rounds_ms[kRounds / 2]);
}

}  // namespace tandem
