// What a run takes of its device's memory, known before any of it is taken.
//
// Pure functions but for available_memory().
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/rank_group.h"
#include "device/device.h"
#include "layers/plan.h"
#include "params/parameter_store.h"

namespace tandem {

// Of one rank. Batches that wait in pinned host memory are not in it.
struct MemoryNeed {
  ParameterMemory parameters;
  ByteCount activations;  // with gradients of activations: the arena without `workspace`
  ByteCount workspace;    // the largest scratch memory of an op
  ByteCount batches;      // on the device, one per step in flight
  std::int64_t micro_batch = 0;

  ByteCount total() const { return parameters.total() + activations + workspace + batches; }
};

// `need` with what another plan of the same parameters takes beside them.
MemoryNeed with_plan(MemoryNeed need, const Plan& plan);

// The memory that a rank's device has.
struct MemoryAvailable {
  DeviceMemory device;  // `free` as found before any rank took memory
  int ranks = 1;        // that take theirs from it

  ByteCount share() const { return ByteCount(device.free.value() / ranks); }  // of one rank
};

// All ranks call together, before any takes much memory: returns when all have looked.
MemoryAvailable available_memory(const Device& device, RankGroup& group);

// Activations and batches grow with the micro-batch, parameters do not, and a smaller micro-batch is taken to
// need no less workspace: so this is never too many. 0 if not even one sample fits.
std::int64_t largest_micro_batch(const MemoryNeed& need, ByteCount available);

// "1.62 GB per rank of 8.19 GB free (16.00 GB in all) that 2 ranks share: weights 101.3 MB, …"
std::string to_text(const MemoryNeed& need, const MemoryAvailable& available);

// Throws InputError if the run does not fit, naming the largest micro-batch that does, and
// train.recompute=blocks where that alone would be enough. `recomputed`: what the run would need with it,
// asked only then; null where there is no such choice.
void expect_enough_memory(const MemoryNeed& need, const MemoryAvailable& available, const std::string& device,
                          const std::function<MemoryNeed()>& recomputed = nullptr);

}  // namespace tandem
