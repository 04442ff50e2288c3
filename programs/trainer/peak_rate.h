// The most that a device can do: what MFU is a share of.
#pragma once

#include <optional>
#include <string_view>

#include "report/measurement_records.h"
#include "run_config/run_config.h"

namespace tandem {

// The configuration's peak, or else that of a known GPU of this name, for one rank of `ranks_on_device`, in
// the arithmetic of precision.compute. None for a device that is not in the table, such as a CPU.
std::optional<PeakRecord> peak_rate(const RunConfig& config, std::string_view device, int ranks_on_device);

}  // namespace tandem
