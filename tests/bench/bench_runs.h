// Bench runs on a link that is exactly a line.
#pragma once

#include <string>

#include "bench/bench_record.h"

namespace tandem {

// Every collective takes latency_us + bus bytes / gb_per_s.
inline BenchRun run_on_a_line(int ranks, double latency_us, double gb_per_s) {
  BenchRun run{.transport = "tcp",
               .description = "mpi",
               .device = "test",
               .ranks = ranks,
               .versions = {{"MPI", "4"}},
               .latency_us = latency_us + 1,
               .rate_per_s = 1e6 / latency_us};
  for (const std::string collective : {"all_reduce", "reduce_scatter", "all_gather"})
    for (const std::int64_t bytes : {8, 4096, 1 << 20, 1 << 25})
      run.points.push_back({.collective = collective,
                            .bytes = bytes,
                            .iterations = 10,
                            .time_us = latency_us + static_cast<double>(bytes) *
                                                        bus_factor(collective, ranks) / gb_per_s / 1e3});
  run.pairs = {
      {.from = 0, .to = 1, .latency_us = 2, .gb_per_s = 5, .both_gb_per_s = 8, .messages_per_s = 1e6}};
  return run;
}

}  // namespace tandem
