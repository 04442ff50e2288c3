// The part of the probe that needs CUDA. A build without it takes cuda_probe_absent.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "doctor/facts.h"

namespace tandem {

bool cuda_is_built();

// CUDA runtime, cuDNN and NCCL: what was compiled against and what was loaded.
std::vector<LibraryVersion> cuda_libraries();

struct PeerTestOptions {
  std::int64_t bytes = 64 << 20;  // of every copy
  bool all_ways = false;          // also both directions at once and copies by a kernel, and PCIe under load
};

// Every ordered pair of visible GPUs, one after the other, in this process: a pattern is written by the one
// into the other's memory, by copy engine and by kernel, and read back. Then bandwidths. Before each pair
// begin_line() goes to `say`, after it the result, in the end end_line(): whoever reads this knows which pair
// hangs, since a pair that does never returns. Run it in a process that may be killed.
void test_peers(const PeerTestOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace tandem
