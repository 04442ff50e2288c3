// What `launcher bench` prints. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/bench_record.h"

namespace tandem {

// Links side by side, their ratio, then per link its points (nccl-tests' columns), pairs and fits, as
// Markdown.
std::string bench_markdown(const BenchResult& result);

// Every point of every link, one per row.
std::string bench_csv(const BenchResult& result);

// The first link over the second, where both were measured: how many times its latency is shorter, its
// aggregate bandwidth and its small-packet rate higher. "" for fewer than two links.
std::string ratio_table(const BenchResult& result);

}  // namespace tandem
