// One rule per limit: none if the cost is below its threshold or was not measured. Internal to this library;
// conclusions.h has the thresholds.
#pragma once

#include <optional>

#include "report/conclusions.h"

namespace tandem {

// Communication or latency bound: compute waits for the wire.
std::optional<Conclusion> communication_rule(const LimitFacts& facts);
std::optional<Conclusion> data_rule(const LimitFacts& facts);
// Compute is slower while communication runs beside it; beyond the noise of the control run.
std::optional<Conclusion> contention_rule(const LimitFacts& facts);
// One rank makes the others wait.
std::optional<Conclusion> straggler_rule(const LimitFacts& facts);
// The device stands still between steps, because the host has not given it the next one.
std::optional<Conclusion> launch_rule(const LimitFacts& facts);

Conclusion compute_bound(const LimitFacts& facts);  // when no rule speaks

}  // namespace tandem
