// A step of a timed network as two streams run it, computed without streams, events or a reducer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "train/timed_training.h"

namespace tandem {

struct TimedRun {
  Schedule schedule = Schedule::Overlapped;
  UpdateOrder update_order = UpdateOrder::Streamed;
  std::int64_t micro_steps = 1;
};

inline double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

struct SimulatedStep {
  double step = 0.0, forward = 0.0, backward = 0.0, recompute = 0.0, exposed = 0.0, busy = 0.0,
         optimizer = 0.0;
};

// The step of docs/measuring.md, written down a second time: without streams, events or a reducer.
inline SimulatedStep simulate(const TimedNetwork& network, const TimedRun& run) {
  SimulatedStep step;
  double compute = 0.0;
  std::vector<double> ready;
  for (std::int64_t micro_step = 0; micro_step < run.micro_steps; ++micro_step) {
    double forward = network.loss_ms;
    for (const auto& layer : network.layers) forward += layer.forward_ms;
    step.forward += forward;
    compute += forward;
    ready.clear();
    for (auto i = network.layers.size(); i-- > 0;) {
      if (network.recomputes(i)) {
        compute += network.layers[i].forward_ms;
        step.recompute += network.layers[i].forward_ms;
      }
      compute += network.layers[i].weight_gradient_ms;
      ready.push_back(compute);
      if (i > 0) compute += network.layers[i].data_gradient_ms;
    }
  }
  const double backward_end = compute;
  step.backward = backward_end - step.forward;
  double link = 0.0;
  for (std::size_t bucket = 0; bucket < ready.size(); ++bucket) {
    link = std::max(link, run.schedule == Schedule::After ? backward_end : ready[bucket]);
    link += network.all_reduce_ms[bucket];
    ready[bucket] = link;  // from here on: when its sum is there
  }
  step.busy = total(network.all_reduce_ms);
  step.optimizer = total(network.update_ms);
  for (std::size_t bucket = 0; bucket < ready.size(); ++bucket) {
    step.exposed += std::max(0.0, ready[bucket] - compute);
    compute = std::max(compute, ready[bucket]);
    if (run.update_order == UpdateOrder::Streamed) compute += network.update_ms[bucket];
  }
  if (run.update_order == UpdateOrder::Gated) compute += step.optimizer;
  step.step = compute;
  return step;
}

}  // namespace tandem
