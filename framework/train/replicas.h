// Keeping the ranks' copies of a model the same, and proving it.
#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "comm/rank_group.h"
#include "device/device.h"
#include "ops/elementwise.h"
#include "params/parameter_store.h"

namespace tandem {

// All of these are called by all ranks together, with no step in flight, and return when done.

// Rank 0's parameters and buffers for everyone, and the 16-bit working copy made from them.
void broadcast_parameters(ParameterStore& store, Communicator& communicator, Elementwise& elementwise,
                          Stream& stream);

// Running statistics become their mean over ranks: each rank has seen only its own samples. Sums in rank
// order on the host, hence the same bits everywhere.
void average_buffers(ParameterStore& store, Device& device, RankGroup& group, Stream& stream);

// A hash of all parameter bits (fp32 masters) of this rank.
std::uint64_t parameter_hash(const ParameterStore& store, Device& device, Stream& stream);

// The hash that all have. Throws Error naming the ranks whose parameters differ from rank 0's, on every rank.
std::uint64_t expect_equal_replicas(const ParameterStore& store, Device& device, RankGroup& group,
                                    Stream& stream);

}  // namespace tandem
