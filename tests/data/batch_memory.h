// Batch memory for tests: what the trainer's slots are in a run.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"

namespace tandem::testing {

// Owns the memory of one batch, filled with bytes that no source writes by accident.
class BatchMemory {
 public:
  explicit BatchMemory(const BatchFormat& format)
      : format_(format),
        inputs_(static_cast<std::size_t>(format.input_bytes().value() + 3) / 4, kUntouched),
        targets_(static_cast<std::size_t>(format.targets.elements().value()), kUntouched) {}

  BatchView view() {
    return {TensorView(inputs_.data(), format_.input_dtype, format_.inputs),
            TensorView(targets_.data(), DType::I32, format_.targets)};
  }
  std::uint8_t pixel(std::size_t at) const {
    return reinterpret_cast<const std::uint8_t*>(inputs_.data())[at];
  }
  const std::vector<std::int32_t>& inputs() const { return inputs_; }  // tokens
  const std::vector<std::int32_t>& targets() const { return targets_; }
  bool operator==(const BatchMemory&) const = default;

 private:
  static constexpr std::int32_t kUntouched = 0x5a5a5a5a;

  BatchFormat format_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> targets_;
};

}  // namespace tandem::testing
