// The machines of a run: hosts with their cores and ranks, and what carries gradients between the ranks.
#pragma once

#include <string>
#include <vector>

#include "report/run_record.h"
#include "report/text_table.h"

namespace tandem {

// `transport` is what was found to carry the bytes; the lines between ranks bear it. `on_gpus`: a rank is a
// GPU.
std::string machine_picture(const std::vector<HostRecord>& hosts, const std::string& transport, bool on_gpus);
TextTable machine_table(const std::vector<HostRecord>& hosts);

}  // namespace tandem
