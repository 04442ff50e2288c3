// The electric power of a device, as something that can be asked.
#pragma once

#include <optional>
#include <string>

namespace tandem {

// Calls come from one thread at a time. A reading may take a millisecond: never within a step.
class PowerSource {
 public:
  virtual ~PowerSource() = default;
  virtual std::optional<double> watts() = 0;  // none if it cannot be read any more
  virtual std::string description() const = 0;
};

}  // namespace tandem
