#include "train/batch_slot.h"

#include <algorithm>
#include <new>

namespace tandem {
namespace {

constexpr ByteCount kAlignment{256};

// Hands out aligned pieces of one allocation, front to back.
class Carver {
 public:
  ByteCount take(ByteCount bytes) {
    const auto at = next_;
    next_ += bytes.rounded_up(kAlignment);
    return at;
  }
  ByteCount total() const { return next_; }

 private:
  ByteCount next_;
};

template <class T>
T* at(const Buffer& memory, ByteCount offset) {
  return reinterpret_cast<T*>(static_cast<char*>(memory.data()) + offset.value());
}

}  // namespace

BatchSlot::BatchSlot(Device& device, const BatchFormat& format)
    : uploaded_(device.make_event(EventUse::Ordering)) {
  const Shape samples{format.inputs[0]};
  Carver on_device;
  const auto inputs = on_device.take(format.input_bytes());
  const auto targets = on_device.take(format.target_bytes());
  const auto positions = on_device.take(bytes_of(samples.elements(), DType::I64));
  const auto step_inputs = on_device.take(ByteCount(sizeof(StepInputs)));
  const auto results = on_device.take(ByteCount(sizeof(StepResults)));
  device_memory_ = Buffer(device.memory(), on_device.total());
  batch_ = {.inputs = device_memory_.view(inputs, format.input_dtype, format.inputs),
            .targets = device_memory_.view(targets, DType::I32, format.targets)};
  positions_ = device_memory_.view(positions, DType::I64, samples);
  device_inputs_ = at<StepInputs>(device_memory_, step_inputs);
  device_results_ = at<StepResults>(device_memory_, results);

  Carver on_host;
  const auto staged_positions = on_host.take(bytes_of(samples.elements(), DType::I64));
  const auto staged_inputs = on_host.take(ByteCount(sizeof(StepInputs)));
  const auto fetched_results = on_host.take(ByteCount(sizeof(StepResults)));
  host_memory_ = Buffer(device.pinned_memory(), on_host.total());
  host_positions_ = at<std::int64_t>(host_memory_, staged_positions);
  host_inputs_ = new (at<StepInputs>(host_memory_, staged_inputs)) StepInputs;
  host_results_ = new (at<StepResults>(host_memory_, fetched_results)) StepResults;
}

void BatchSlot::upload(const BatchView& host, const StepInputs& inputs,
                       std::span<const std::int64_t> positions, Stream& copy, Stream& compute) {
  TANDEM_EXPECT(host.format() == batch_.format(), "a batch of another format");
  TANDEM_EXPECT(ElementCount(static_cast<std::int64_t>(positions.size())) == positions_.elements(),
                "{} positions for {} samples", positions.size(), positions_.elements().value());
  *host_inputs_ = inputs;
  std::ranges::copy(positions, host_positions_);
  copy.copy(batch_.inputs.raw(), host.inputs.raw(), batch_.inputs.bytes());
  copy.copy(batch_.targets.raw(), host.targets.raw(), batch_.targets.bytes());
  copy.copy(positions_.raw(), host_positions_, positions_.bytes());
  copy.copy(device_inputs_, host_inputs_, ByteCount(sizeof(StepInputs)));
  copy.record(*uploaded_);
  compute.wait(*uploaded_);
}

void BatchSlot::download_results(Stream& compute) {
  compute.copy(host_results_, device_results_, ByteCount(sizeof(StepResults)));
}

}  // namespace tandem
