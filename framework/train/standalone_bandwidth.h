// The bus bandwidth of the link with nothing else running.
#pragma once

#include <optional>

#include "comm/communicator.h"
#include "device/device.h"
#include "params/parameter_store.h"

namespace tandem {

// All-reduces the gradient array's buckets, one after the other, a few times, and gives the bus bandwidth of
// the median round in 1e9 bytes per second; none for one rank. The gradients, which must be zero, stay zero.
// All ranks call together before the first step.
std::optional<double> measure_bus_gb_per_s(ParameterStore& store, Communicator& communicator, Device& device,
                                           Stream& communication);

}  // namespace tandem
