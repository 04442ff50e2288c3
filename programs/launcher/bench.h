// `launcher bench`: what each link gives, without any training: the field's micro-benchmarks from inside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tandem {

struct BenchOptions {
  std::vector<std::string> links;     // see link_choice.h; empty: nvlink,pcie with GPUs, else shm,tcp,paced
  std::vector<std::string> variants;  // each measures every link once more: "comm.max_ctas=4"
  std::vector<std::string> overrides;
  int ranks = 0;  // 0: one per GPU, or per physical core
  int repeats = 3;
  std::int64_t max_bytes = 0;  // 0: 1 GiB with GPUs, else 32 MiB
  int factor = 4;              // from one size to the next
  double seconds_per_point = 0.2;
  std::filesystem::path out;  // empty: a new folder in runs/
  std::vector<std::string> mpirun_extra;
  std::filesystem::path probe;  // the program that starts as ranks
};

// One mpirun per link, variant and repeat, since MPI and NCCL read their switches once per process;
// interleaved. With several GPUs, every pair's copies too. Writes bench.json, bench.md and bench.csv to
// `out`, the tables to standard output and everything else to standard error.
//
// Throws InputError for wrong input, and RunFailed if a run ends with an error or by a signal passed on to
// it. Returns the exit status: 1 if any result was wrong.
int bench_command(const BenchOptions& options);

}  // namespace tandem
