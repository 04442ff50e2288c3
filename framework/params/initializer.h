// First parameter values on the host.
#pragma once

#include <cstdint>
#include <span>

#include "params/parameter.h"

namespace tandem {

// Writes the values of parameter `id` in stored order, all of spec.stored; padding is zero. Each value
// depends on (seed, id, canonical element) alone, so that it is the same however many threads share the work:
// all that the machine has, for large tensors.
void write_initial_values(const ParameterSpec& spec, ParamId id, std::uint64_t seed, std::span<float> values);

}  // namespace tandem
