// A plan with the memory to execute it.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "layers/context.h"
#include "params/gradient_sink.h"
#include "params/parameter_store.h"
#include "support/host_tensor.h"

namespace tandem {

inline constexpr std::array<std::size_t, 1> kOneBucket = {0};

inline ParameterLayout one_bucket_layout(const Plan& plan) {
  return ParameterLayout(plan.parameters, plan.ready_order(),
                         std::span(kOneBucket).first(plan.parameters.empty() ? 0 : 1));
}

// Owns everything and stays where it is. One stream; synchronize() before reading memory, which the host can
// address.
struct PlannedRun {
  explicit PlannedRun(Plan finished, const ParameterStoreOptions& options = {},
                      std::shared_ptr<Device> on = std::make_shared<CpuDevice>())
      : shared_device(std::move(on)),
        device(*shared_device),
        plan(std::move(finished)),
        stream(device.make_stream(StreamRole::Compute)),
        store(device, one_bucket_layout(plan), plan.buffers, options),
        sink(store, plan.gradient_uses(), nullptr),
        arena(device.memory(), plan.arena_bytes),
        context(plan, arena, store, sink, *stream) {
    store.initialize(1, *stream);
  }
  ~PlannedRun() {
    try {
      stream->synchronize();  // before the memory that its work uses goes
    } catch (...) {
      // The work failed, as a test of failures wants it to.
    }
  }
  PlannedRun(const PlannedRun&) = delete;
  PlannedRun& operator=(const PlannedRun&) = delete;

  // Fills the arena with NaN, so that a read before a write is seen.
  void begin(Mode mode, StepPointers step = {}) {
    stream->synchronize();
    if (arena.data() != nullptr) {
      std::memset(arena.data(), 0xff, static_cast<std::size_t>(arena.bytes().value()));
    }
    context.begin(mode, step);
  }

  // Adds U(-spread, spread) to every parameter: zeros and ones hide mistakes.
  void scatter_parameters(float spread, std::uint32_t seed) {
    stream->synchronize();
    for (const auto id : store.layout().ready_order()) {
      const auto noise = HostTensor::random(store.layout().spec(id).stored, seed++, -spread, spread);
      float* values = store.master(id).data<float>();
      for (std::int64_t i = 0; i < noise.elements(); ++i) values[i] += noise[i];
    }
  }

  ParamId parameter(const std::string& name) const {
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      if (plan.parameters[i].name == name) return {static_cast<int>(i)};
    }
    fail_expectation("parameter", "no parameter is named " + name, std::source_location::current());
  }

  std::shared_ptr<Device> shared_device;
  Device& device;
  Plan plan;
  std::unique_ptr<Stream> stream;
  ParameterStore store;
  GradientSink sink;
  Buffer arena;
  Context context;
};

// What lies in a view now, as a tensor of its own.
inline HostTensor snapshot(TensorView view) {
  HostTensor copy(view.shape(), view.dtype());
  std::memcpy(copy.view().raw(), view.raw(), static_cast<std::size_t>(view.bytes().value()));
  return copy;
}

}  // namespace tandem
