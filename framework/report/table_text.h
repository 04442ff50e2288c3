// How values look in tables: one place, so that a quantity looks the same everywhere. Internal to this
// library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_record.h"

namespace tandem {

inline constexpr const char* kNoValue = "n/a";

std::string number(const std::optional<double>& value, int decimals);
std::string percent(const std::optional<double>& share);  // 0.031 -> "3.1"
std::string spread(const std::optional<Spread>& value, int decimals, bool with_range);
int decimals_for(double value);  // three to four significant digits: 0.123, 1.23, 12.3, 123

// "shm, paced to 1 Gbit/s + 50 us": caveats stand beside the transport, so that no row can be read without
// them.
std::string with_caveats(const std::string& transport, const std::vector<std::string>& caveats);

std::string batch_line(const BatchRecord& batch, int world_size);
std::string hosts_line(const std::vector<HostRecord>& hosts);
std::string reduction_line(const ReductionRecord& reduction);
// "12 blocks, h.11 to h.0, run forward again within backward"; empty where none do.
std::string recompute_line(const std::vector<std::string>& recomputed);
std::string accuracy_text(std::int64_t correct, std::int64_t total);  // "8,712 of 10,000 = 87.12 %"

// A bus bandwidth in training above the link's own cannot be: the machine was busy, or bytes or time are
// counted wrongly. Empty if it holds.
std::string bandwidth_warning(std::string_view row, const std::optional<double>& in_training,
                              const std::optional<double>& standalone);

}  // namespace tandem
