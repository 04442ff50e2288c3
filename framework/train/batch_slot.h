// A batch on its way to the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "data/batch.h"
#include "device/device.h"
#include "ops/step_state.h"

namespace tandem {

// Device memory for one batch with what the host knows of its step, and pinned memory to send the latter
// from. Allocated once; used again and again. A slot may be filled again when the work that reads it has
// finished.
class BatchSlot {
 public:
  BatchSlot(Device& device, const BatchFormat& format);

  // Copies on `copy`; later work on `compute` sees it. `host` and the slot stay untouched until then.
  void upload(const BatchView& host, const StepInputs& inputs, std::span<const std::int64_t> positions,
              Stream& copy, Stream& compute);

  BatchView batch() const { return batch_; }                   // on the device
  TensorView positions() const { return positions_; }          // [samples] i64, on the device
  const StepInputs* inputs() const { return device_inputs_; }  // on the device
  StepResults* results() const { return device_results_; }     // on the device

  void download_results(Stream& compute);                             // enqueues the copy to the host
  const StepResults& host_results() const { return *host_results_; }  // REQUIRES that the copy has run

 private:
  Buffer device_memory_;
  Buffer host_memory_;
  BatchView batch_;
  TensorView positions_;
  std::int64_t* host_positions_;
  StepInputs* device_inputs_;
  StepInputs* host_inputs_;
  StepResults* device_results_;
  StepResults* host_results_;
  std::unique_ptr<Event> uploaded_;
};

}  // namespace tandem
