// A copy of what training changes, to put back.
#pragma once

#include <cstddef>
#include <vector>

#include "device/device.h"
#include "ops/elementwise.h"
#include "params/parameter_store.h"

namespace tandem {

// Parameters, optimizer states and running statistics, kept in host memory so that no device memory is taken.
// Gradients are not kept: every step writes them anew. Step state (loss scale, count of applied steps) is the
// trainer's own and is not in the store. `store`, `device` and `stream` outlive the snapshot; nothing may be
// in flight when it is taken or put back.
class TrainingSnapshot {
 public:
  TrainingSnapshot(ParameterStore& store, Device& device, Stream& stream);

  // Bit by bit; the 16-bit working copy is made from the parameters as after a broadcast.
  void put_back(Elementwise& elementwise) const;

 private:
  std::vector<TensorView> arrays() const;

  ParameterStore& store_;
  Device& device_;
  Stream& stream_;
  std::vector<std::vector<std::byte>> copies_;  // of arrays()
};

}  // namespace tandem
